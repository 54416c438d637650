// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <lull/graph/csr/edge_list.hpp>
#include <lull/host/io/text_source.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lull::detail {

inline constexpr std::size_t max_line_bytes = 64UL * 1024;  // the line's end not counted; a text block holds four

/// How the lines of a format that hold an edge look; all three formats are one grammar with these differences.
struct line_grammar {
  char comment = '#';
  bool arcs = false;            // each edge line begins with the word `a`, each comment with the word `c`
  bool weighted = false;        // a third column
  bool lower_triangle = false;  // source below target is an error
  std::uint64_t first_id = 0;   // 0 or 1
  std::uint64_t end_id = 0;     // one past the last id a line may name, as written there
  std::string id_limit;         // why, for the message
};

struct line_fault {
  std::uint64_t line;  // from 1, within the text given; 0: the file as a whole
  std::string message;
};

struct parsed_lines {
  std::uint64_t lines = 0;
  std::size_t edges = 0;
  std::uint32_t highest = 0;  // vertex, counted from 0
  std::optional<line_fault> fault;
};

/// The most edges that a text of so many bytes can hold.
constexpr std::size_t max_edges(std::size_t text_bytes) noexcept { return text_bytes / 4; }  // "0 1\n"

/// Parses whole lines up to the first faulty one; writes the edges, counted from 0, and the weights if there are any.
/// `edges` and `weights` have room for max_edges(text.size()); the text ends with a line feed.
parsed_lines parse_lines(line_grammar const& grammar, std::string_view text, edge* edges, float* weights);

/// The line cut at blanks, tabs and a closing CR: what every message about a line works on.
std::vector<std::string_view> split_words(std::string_view line);

/// A whole number of decimal digits only, at most 19 of them; otherwise says what is wrong with it.
struct number_or_fault {
  std::uint64_t number;
  std::string fault;
};
number_or_fault read_number(std::string_view word);

}  // namespace lull::detail
