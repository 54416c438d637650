// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/csr/transpose.hpp>
#include <lull/graph/edge_queue.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/array_table.hpp>
#include <string>

namespace lull::detail {

/// Adds the rows of a graph of `size`; where the table only counts, `rows` may be empty.
inline void add_rows(array_table& table, graph_extent size, csr const& rows, std::uint64_t const*& offsets,
                     std::uint32_t const*& targets) {
  table.input(offsets, size.vertices + 1, rows.offsets);
  table.input(targets, size.edges, rows.targets);
}

/// Adds the rows of the transpose, in host memory only meanwhile.
inline void add_transposed_rows(array_table& table, graph_extent size, csr const& rows, std::uint64_t const*& offsets,
                                std::uint32_t const*& sources) {
  add_rows(table, size, table.only_counts() ? csr{} : transpose(rows), offsets, sources);
}

/// Adds a queue of so many vertices.
inline void add_queue(array_table& table, edge_queue& queue, std::string const& name, std::uint64_t vertices) {
  table.cleared(queue.vertex, name + "_vertices", {vertices});
  table.cleared(queue.first_edge, name + "_edges", {vertices});
}

/// Throws limit_error, in the task's name, for a graph that an edge_queue does not hold.
inline void check_queue(char const* task, graph_extent size) {
  graph_extent const max{queue_mark::max_vertices, queue_mark::max_edges};
  if (size.vertices <= max.vertices && size.edges <= max.edges) return;
  throw limit_error(std::string{task} + ": a graph of " + size.text() + " is too large: it can have " + max.text());
}

/// Calls fill(). Where the machine's memory does not suffice, the error says for what (`PageRank of … takes`), and how
/// many bytes it is.
void fill_arrays(std::string const& what, std::uint64_t bytes, auto const& fill) {
  try {
    fill();
  } catch (limit_error const& reason) {
    throw limit_error(what + ' ' + std::to_string(bytes) + " bytes of the machine: " + reason.what());
  }
}

}  // namespace lull::detail
