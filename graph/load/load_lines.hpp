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

/// What becomes of a third column.
enum class weight_column {
  none,     // there is none
  skipped,  // any number, `nan` and those that no float holds too: nobody needs them
  values,   // finite floats
  lengths   // … from 0 to max_real_weight
};

/// How the lines of a format that hold an edge look; all formats of a line an edge are one grammar with these
/// differences.
struct line_grammar {
  std::string_view comments = "#%";  // a line that begins with one of them is a comment
  char separator = ' ';              // between columns: blanks and tabs, or one of this with or without them
  bool arcs = false;                 // each edge line begins with the word `a`, each comment with the word `c`
  weight_column weights = weight_column::none;
  bool one_triangle = false;   // which sides of the diagonal have entries is told
  std::uint64_t first_id = 0;  // 0 or 1
  std::uint64_t end_id = 0;    // one past the last id a line may name, as written there
  std::string id_limit;        // why, for the message

  bool stores_weights() const noexcept { return weights == weight_column::values || weights == weight_column::lengths; }
};

struct line_fault {
  std::uint64_t line;  // from 1, within the text given; 0: the file as a whole
  std::string message;
};

/// An entry beside the diagonal, in the file's own numbers.
struct entry_place {
  std::uint64_t line;  // as in line_fault
  std::uint64_t row;
  std::uint64_t column;
};

/// A whole weight that no float equals.
struct rounded_weight {
  std::uint64_t line;  // as in line_fault
  std::string text;    // as it stands there
  float taken;
};

struct parsed_lines {
  std::uint64_t lines = 0;
  std::size_t edges = 0;
  std::uint32_t highest = 0;  // vertex, counted from 0
  std::optional<line_fault> fault;
  std::optional<entry_place> below;       // the diagonal, the first; with one_triangle
  std::optional<entry_place> above;       // … or above it
  std::optional<rounded_weight> rounded;  // the first
  std::uint64_t rounded_weights = 0;
};

/// The most edges that a text of so many bytes can hold.
constexpr std::size_t max_edges(std::size_t text_bytes) noexcept { return text_bytes / 4; }  // "0 1\n"

/// Parses whole lines up to the first faulty one; writes the edges, counted from 0, and the weights if they are stored.
/// `edges` and `weights` have room for max_edges(text.size()); the text ends with a line feed.
parsed_lines parse_lines(line_grammar const& grammar, std::string_view text, edge* edges, float* weights);

/// The line cut at blanks, tabs and a closing CR: what every message about a line works on. With another separator it
/// is cut at each of these, and blanks around the words are left out; a word may be empty then.
std::vector<std::string_view> split_words(std::string_view line, char separator = ' ');

/// Says that networkx wrote data after an edge, and what to do. Empty: it did not.
std::string networkx_fault(std::string_view line);

/// Whether a line of an edge list, cut into words, holds no edge.
bool is_comment(std::vector<std::string_view> const& words, std::string_view comments);

/// Reads a number up to the next blank or `end`, of which a line feed is part; moves `at` there. Returns false for what
/// is no number, or none that `column` allows. `rounded`: set where a whole number is no float.
bool read_weight(char const*& at, char const* end, weight_column column, float& weight, bool& rounded);
/// Why `read_weight` refused this word.
std::string weight_fault(std::string_view word, weight_column column);

/// A whole number of decimal digits only, at most 19 of them; otherwise says what is wrong with it.
struct number_or_fault {
  std::uint64_t number;
  std::string fault;
};
number_or_fault read_whole(std::string_view word);

}  // namespace lull::detail
