// SPDX-License-Identifier: Apache-2.0
#include <lull/graph/pagerank/vertex_names.hpp>

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <lull/graph/load/load_lines.hpp>
#include <lull/host/error.hpp>

namespace lull {
namespace {

/// A line that begins with a number and a sign that divides it from the rest.
struct numbered_name {
  std::uint64_t number = 0;
  char divider = '\0';
  std::string_view name;
};

std::optional<numbered_name> numbered(std::string_view line) {
  numbered_name found;
  auto const [end, fault] = std::from_chars(line.data(), line.data() + line.size(), found.number);
  if (fault != std::errc{} || end == line.data() + line.size()) return std::nullopt;
  found.divider = *end;
  if (std::string_view{"\t,;"}.find(found.divider) == std::string_view::npos) return std::nullopt;
  found.name = line.substr(static_cast<std::size_t>(end + 1 - line.data()));
  return found;
}

/// Returns the names in the order of the numbers before them; nothing where lines are whole names.
std::optional<std::vector<std::string>> by_numbers(std::vector<std::string> const& lines, std::uint32_t first_id,
                                                   std::filesystem::path const& file) {
  auto const first = lines.empty() ? std::nullopt : numbered(lines.front());
  if (!first) return std::nullopt;
  for (std::string const& line : lines) {
    auto const each = numbered(line);
    if (!each || each->divider != first->divider) return std::nullopt;
  }
  std::vector<std::string> names(lines.size());
  std::vector<bool> has_name(lines.size(), false);
  for (std::size_t at = 0; at < lines.size(); ++at) {
    numbered_name const each = *numbered(lines[at]);
    std::uint64_t const vertex = each.number - first_id;  // below first_id it is above all
    if (vertex < names.size() && !has_name[vertex]) {
      names[vertex] = each.name;
      has_name[vertex] = true;
    } else if (first->divider == '\t') {
      throw input_error(file.string(), at + 1,
                        "begins with the number " + std::to_string(each.number) +
                            ", which is no vertex or comes twice: write each vertex's number and name, or names alone");
    } else {
      return std::nullopt;  // names that look so
    }
  }
  return names;
}

/// Takes the text's next lines; a file may end in blank ones.
void take_lines(std::string_view left, std::filesystem::path const& file, std::uint32_t vertices,
                std::vector<std::string>& lines) {
  while (!left.empty()) {
    auto const end = left.find('\n');
    std::string_view line = left.substr(0, end);
    if (line.size() > detail::max_line_bytes)
      throw input_error(file.string(), lines.size() + 1, "the line is longer than 64 KiB");
    if (auto const mark = byte_order_mark_fault(line); !mark.empty())
      throw input_error(file.string(), lines.size() + 1, mark);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (lines.size() < vertices) {
      lines.emplace_back(line);
    } else if (line.find_first_not_of(" \t") != line.npos) {
      throw input_error(file.string(), lines.size() + 1,
                        "is a name too many: the graph has " + std::to_string(vertices) +
                            " vertices, and each has a line (no heading)");
    }
    left.remove_prefix(end + 1);
  }
}

}  // namespace

vertex_names read_vertex_names(std::filesystem::path const& file, std::uint32_t vertices, std::uint32_t first_id) {
  constexpr std::uint64_t max_bytes = 1ULL << 32;
  std::vector<std::string> lines;
  try {
    text_source text{file.string(), max_bytes};
    if (ends_lines_at_returns(text.peek(text_block_bytes - 1))) text.end_lines_at_returns();
    for (text_block block; text.next(block);) take_lines(block.text(), file, vertices, lines);
  } catch (text_error const& reason) {
    throw input_error(file.string(), 0, reason.what());
  }
  if (lines.size() < vertices) {
    throw input_error(file.string(), 0,
                      "holds " + std::to_string(lines.size()) + " names, but the graph has " +
                          std::to_string(vertices) + " vertices");
  }
  if (auto names = by_numbers(lines, first_id, file))
    return {std::move(*names), file.filename().string() + ": a vertex's number stands before its name"};
  return {std::move(lines)};
}

}  // namespace lull
