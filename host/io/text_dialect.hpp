// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/io/text_record.hpp>

namespace lull {

/// Where a line that begins with # or % is a comment: in most tables it may be a row whose first field is text.
enum class comment_lines { before_rows, anywhere };

/// How a text is divided into columns, as far as a user says so. What is not given is found from the first rows.
struct dialect_options {
  std::string delimiter{};       // "," ";" "\t" "|" "::" ":", or " " for runs of blanks; empty: found
  std::optional<bool> header{};  // whether the first row names the columns; none: found
  char decimal = '\0';           // '.' or ','; zero: found
  comment_lines comments = comment_lines::before_rows;
};

/// What is known of a column from the first rows.
struct text_column {
  std::string name{};      // from the header; empty without
  bool number = false;     // most fields are numbers
  bool words = false;      // some fields are no numbers
  bool counts_up = false;  // whole numbers from 0 or 1, each one larger than the one before
  bool different = false;  // it is the first, of whole numbers, each another
  bool from_name = false;  // there is a header
  bool row_names = false;  // it is the first, of row names as R writes them: the header has no name for it
};

/// How a text is divided into columns.
struct text_dialect {
  std::string delimiter = ",";
  char decimal = '\0';  // zero: no number in the first rows has one
  bool header = false;
  bool header_is_comment = false;  // its line begins with # or %
  bool delimiter_line = false;     // a line `sep=;` before the table, as Excel has it, says the delimiter
  std::string fault{};             // why the first line is none of the table; empty: it is one
  std::string doubt{};             // what else the first line could be; empty: nothing
  std::vector<text_column> columns{};
};

/// Finds the dialect of a text that begins so; `text` is of whole lines. Each delimiter is tried on up to 100 rows; the
/// one that gives most numbers is taken. A first row is a header if it has words in columns of numbers, or counts 0, 1,
/// 2 and so on as pandas names columns. Names for all columns but the first, of different words or numbers that count
/// from 1, are those of R's `write.table`.
text_dialect find_dialect(std::string_view text, dialect_options const& given);

/// Finds the dialect of a text after a comment that may name its columns, `# a,b`, here without its mark. Returns
/// whether it does: it has as many fields as the first row, all of them words (the first may be empty), and that row
/// has no names.
bool find_commented_header(std::string const& comment, std::string_view text, dialect_options const& given,
                           text_dialect& found);

/// "separated by semicolons, decimal commas, names in the first line"
std::string to_string(text_dialect const& dialect);

/// "`userId`, `movieId`": the names, of the first twelve columns.
std::string list_columns(text_dialect const& dialect);

/// "there is no column `x`; the file has 2 columns: `a`, `b`"
std::string no_column(text_dialect const& dialect, std::string const& wanted);

/// "column 3 (rating)"
std::string column_text(text_dialect const& dialect, std::size_t column);

/// Finds a column by its name or, where no column has that name, by its number from 1 (-1: the last). None: no such.
std::optional<std::size_t> find_column(text_dialect const& dialect, std::string_view wanted);

/// In lower case, without what is neither letter nor digit: `userId`, `user_id` and `User ID` are one name.
std::string plain_name(std::string_view name);

/// Whether the column counts up and has a name that tables give their row numbers, or none; or is the first, has no
/// name, as pandas writes an index, and its numbers are whole and different; or holds R's row names.
bool is_row_number(text_column const& column);

}  // namespace lull
