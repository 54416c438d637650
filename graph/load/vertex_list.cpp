// SPDX-License-Identifier: Apache-2.0
#include <lull/graph/load/load_lines.hpp>
#include <lull/graph/load/vertex_list.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/text_source.hpp>
#include <string>
#include <string_view>

namespace lull {
namespace {

/// The vertex of a line that holds one. Throws the fault, as a text.
std::uint32_t vertex_of(std::vector<std::string_view> const& words, std::uint64_t vertices, std::uint32_t first_id) {
  if (words.size() != 1) throw text_error("one vertex a line: this one has " + std::to_string(words.size()) + " words");
  auto const [number, fault] = detail::read_number(words.front());
  if (!fault.empty()) throw text_error(fault);
  if (number < first_id || number - first_id >= vertices)
    throw text_error("vertex " + std::to_string(number) + " does not exist: the graph has vertices " +
                     std::to_string(first_id) + " to " + std::to_string(vertices - 1 + first_id));
  return static_cast<std::uint32_t>(number - first_id);
}

}  // namespace

std::vector<std::uint32_t> read_vertex_list(std::filesystem::path const& file, std::uint64_t vertices,
                                            std::uint32_t first_id) {
  constexpr std::uint64_t max_bytes = 1ULL << 28;
  std::vector<std::uint32_t> listed;
  std::uint64_t number = 0;  // of the line
  try {
    text_source text{file.string(), max_bytes};
    for (text_block block; text.next(block);) {
      for (std::string_view left = block.text(); !left.empty();) {
        std::string_view const line = left.substr(0, left.find('\n'));
        left.remove_prefix(line.size() + 1);
        ++number;
        if (line.size() > detail::max_line_bytes) throw text_error("the line is longer than 64 KiB");
        auto const words = detail::split_words(line);
        if (words.empty() || words.front().starts_with('#')) continue;
        if (listed.size() == max_listed_vertices)
          throw text_error("a list can name " + std::to_string(max_listed_vertices) + " vertices at most");
        listed.push_back(vertex_of(words, vertices, first_id));
      }
    }
  } catch (text_error const& reason) {
    throw input_error(file.string(), number, reason.what());
  }
  if (listed.empty()) throw input_error(file.string(), 0, "names no vertex: write one id a line");
  return listed;
}

}  // namespace lull
