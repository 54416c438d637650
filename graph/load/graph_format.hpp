// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lull::detail {

enum class graph_format { edge_list, weighted_edge_list, matrix_market, dimacs, metis };

/// The files that a name can stand for, for a message.
inline constexpr char const* known_names =
    ".el, .wel, .mtx, .gr and .graph are known, each also with .gz; any other is read by its content";

/// By the end of the name, in letters of either case; nothing where it says none.
std::optional<graph_format> format_of_name(std::string_view path);

/// How a text is to be read, as far as it begins.
struct text_format {
  graph_format format;
  char separator = ' ';  // of an edge list
  std::string taken{};   // what the content told and the name did not, as a sentence goes on; empty: nothing
};

/// `start`: the first lines; `by_name`: what the name says. A banner of Matrix Market counts more than that. Throws
/// text_error for a text that nothing can be told of.
text_format format_of_text(std::optional<graph_format> by_name, std::string_view start);

/// What the first line of KONECT's lists says of their edges.
enum class konect_edges { one_way, undirected, bipartite };
konect_edges konect_kind(std::string_view start);

}  // namespace lull::detail
