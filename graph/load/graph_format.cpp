// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/load/graph_format.hpp>
#include <lull/graph/load/load_lines.hpp>
#include <lull/host/io/text_source.hpp>
#include <utility>
#include <vector>

namespace lull::detail {
namespace {

char lower(char byte) { return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte; }

/// Whether the text has this at its beginning, or at its end, in letters of either case.
bool begins(std::string_view text, std::string_view small) {
  return text.size() >= small.size() && std::equal(small.begin(), small.end(), text.begin(),
                                                   [](char wanted, char byte) { return wanted == lower(byte); });
}
bool ends(std::string_view text, std::string_view small) {
  return text.size() >= small.size() && begins(text.substr(text.size() - small.size()), small);
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

/// The first line of an edge list that is neither blank nor a comment; empty: there is none.
std::string_view first_edge(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(std::min(first_line(text).size() + 1, text.size()))) {
    std::string_view const line = first_line(text);
    if (!is_comment(split_words(line), line_grammar{}.comments)) return line;
  }
  return {};
}

/// Of an edge list. A tab or a blank may stand beside a comma.
char separator_of(std::string_view line) {
  for (char const each : {',', ';'}) {
    if (line.find(each) != std::string_view::npos) return each;
  }
  return ' ';
}

}  // namespace

std::optional<graph_format> format_of_name(std::string_view path) {
  if (ends(path, ".gz")) path.remove_suffix(3);
  constexpr std::pair<std::string_view, graph_format> known[] = {{".el", graph_format::edge_list},
                                                                 {".wel", graph_format::weighted_edge_list},
                                                                 {".mtx", graph_format::matrix_market},
                                                                 {".gr", graph_format::dimacs},
                                                                 {".graph", graph_format::metis}};
  for (auto const& [suffix, format] : known) {
    if (ends(path, suffix)) return format;
  }
  return std::nullopt;
}

text_format format_of_text(std::optional<graph_format> by_name, std::string_view start) {
  bool const list = by_name == graph_format::edge_list || by_name == graph_format::weighted_edge_list;
  if (by_name && !list) return {*by_name};
  if (begins(start, "%%matrixmarket") || begins(start, "%matrixmarket"))
    return {graph_format::matrix_market, ' ', "Matrix Market, by its first line"};
  std::string_view const line = first_edge(start);
  char const separator = separator_of(line);
  if (by_name) return {*by_name, separator};

  auto const words = split_words(line, separator);
  if (words.empty() && start.size() < text_block_bytes / 2)
    throw text_error(start.empty() ? "is empty" : "holds no edges");
  auto const blanks = split_words(line);
  if (!blanks.empty() && (blanks[0] == "c" || blanks[0] == "p"))
    return {graph_format::dimacs, ' ', "DIMACS shortest path, by its first line"};
  if (auto const fault = networkx_fault(line); !fault.empty()) throw text_error(fault);
  if (words.size() != 2 && words.size() != 3)
    throw text_error(
        "neither its name nor its content tells a graph format: an edge list has 2 or 3 columns, but its "
        "first line is " +
        quote(line) + "; by name " + known_names);
  bool const weighted = words.size() == 3;
  return {weighted ? graph_format::weighted_edge_list : graph_format::edge_list, separator,
          std::string{"an edge list, by its first edge: columns source, target"} + (weighted ? ", weight" : "") +
              (separator == ' ' ? ", blanks between them" : std::string{", `"} + separator + "` between them")};
}

konect_edges konect_kind(std::string_view start) {
  auto const words = split_words(first_line(start));
  if (words.size() < 2 || words[0] != "%") return konect_edges::one_way;
  if (words[1] == "sym") return konect_edges::undirected;
  return words[1] == "bip" ? konect_edges::bipartite : konect_edges::one_way;
}

}  // namespace lull::detail
