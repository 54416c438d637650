// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/task/options.hpp>
#include <numeric>
#include <string>
#include <vector>

namespace lull {

/// The vertices of the `count` greatest values, or of all if they are fewer: the greatest first, equal ones by rising
/// vertex.
template <class Value>
std::vector<std::uint32_t> top_vertices(std::vector<Value> const& values, std::size_t count) {
  std::vector<std::uint32_t> vertices(values.size());
  std::iota(vertices.begin(), vertices.end(), 0U);
  std::vector<std::uint32_t> top(std::min(count, vertices.size()));
  std::partial_sort_copy(
      vertices.begin(), vertices.end(), top.begin(), top.end(),
      [&](std::uint32_t a, std::uint32_t b) { return values[a] != values[b] ? values[a] > values[b] : a < b; });
  return top;
}

/// Adds a heading and a numbered line for each of these vertices, with text(vertex); nothing where there is none.
void list_vertices(std::vector<std::string>& lines, std::string heading, std::vector<std::uint32_t> const& vertices,
                   auto const& text) {
  if (vertices.empty()) return;
  lines.push_back(std::move(heading));
  for (std::size_t place = 0; place < vertices.size(); ++place) {
    char number[24];
    std::snprintf(number, sizeof number, "%4zu  ", place + 1);
    lines.push_back(number + text(vertices[place]));
  }
}

/// Where the option `out` names a file: writes a line for each vertex there, its number from `first_id` on, a tab and
/// text(value), and adds a line that says so, which begins with `what`.
template <class Value>
void write_values(option_values const& values, std::vector<Value> const& of_vertices, std::uint64_t first_id,
                  auto const& text, std::string const& what, std::vector<std::string>& lines) {
  if (!values.has("out")) return;
  atomic_file file{values.path("out")};
  for (std::size_t vertex = 0; vertex < of_vertices.size(); ++vertex)
    file.write(std::to_string(vertex + first_id) + '\t' + text(of_vertices[vertex]) + '\n');
  file.commit();
  lines.push_back(what + ": " + values.path("out").string());
}

}  // namespace lull
