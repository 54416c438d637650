// SPDX-License-Identifier: Apache-2.0
#include <lull/graph/load/load_lines.hpp>
#include <lull/graph/load/vertex_list.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/delimited_text.hpp>
#include <string>
#include <string_view>

namespace lull {
namespace {

/// The column of the vertices: the only one that does not count rows. Says what was taken, where there is a choice.
std::size_t vertex_column(delimited_text const& text, std::string& taken) {
  auto const& columns = text.dialect().columns;
  std::size_t column = 0;
  while (column + 1 < columns.size() && is_row_number(columns[column])) ++column;
  if (columns.size() - column != 1)
    text.refuse_at(text.header_line(),
                   "one vertex a line: this one has " + std::to_string(columns.size()) + " words or columns");
  if (text.dialect().header)
    taken = to_string(text.dialect()) + "; vertices are " + column_text(text.dialect(), column);
  if (column != 0) taken += "; left out: " + column_text(text.dialect(), 0);
  return column;
}

std::uint32_t vertex_of(delimited_text const& text, std::string_view word, std::uint64_t vertices,
                        std::uint32_t first_id) {
  auto const [number, fault] = detail::read_whole(word);
  if (!fault.empty()) text.refuse(fault);
  if (number < first_id || number - first_id >= vertices)
    text.refuse("vertex " + std::to_string(number) + " does not exist: the graph has vertices " +
                std::to_string(first_id) + " to " + std::to_string(vertices - 1 + first_id));
  return static_cast<std::uint32_t>(number - first_id);
}

}  // namespace

std::vector<std::uint32_t> read_vertex_list(std::filesystem::path const& file, std::uint64_t vertices,
                                            std::uint32_t first_id, std::string* taken) {
  std::vector<std::uint32_t> listed;
  std::string said;
  try {
    delimited_text text{file.string(),
                        {.comments = comment_lines::anywhere},
                        {.max_bytes = 1ULL << 28, .max_line_bytes = detail::max_line_bytes}};
    text_record record;
    for (std::size_t column = 0; text.next(record);) {
      if (listed.empty()) column = vertex_column(text, said);
      if (listed.size() == max_listed_vertices)
        text.refuse("a list can name " + std::to_string(max_listed_vertices) + " vertices at most");
      listed.push_back(vertex_of(text, record.fields[column], vertices, first_id));
    }
  } catch (text_error const& reason) {
    throw input_error(file.string(), 0, reason.what());
  }
  if (listed.empty()) throw input_error(file.string(), 0, "names no vertex: write one id a line");
  if (taken != nullptr) *taken = said;
  return listed;
}

}  // namespace lull
