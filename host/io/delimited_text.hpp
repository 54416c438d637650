// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <lull/host/io/text_dialect.hpp>
#include <lull/host/io/text_number.hpp>
#include <lull/host/io/text_source.hpp>

namespace lull {

struct delimited_limits {
  std::uint64_t max_bytes = 1ULL << 34;      // of text, after decompression
  std::size_t max_line_bytes = 64UL * 1024;  // also of a record of several lines
};

enum class text_marks { line_ends, field_ends };

/// A text of rows and columns, read row by row: CSV and its relatives. Not thread-safe.
///
/// Lines end in LF, CRLF or CR; quotes are those of RFC 4180. Gzip is decompressed. Blank lines are skipped, and so are
/// comments, where the options say they may be. Each row must have as many fields as the first line has. Errors:
/// input_error with file and line; text_error as of text_source.
class delimited_text {
 public:
  /// Finds the dialect from the first rows. Throws input_error for what is no text.
  delimited_text(std::string path, dialect_options const& given, delimited_limits const& limits);

  text_dialect const& dialect() const noexcept { return dialect_; }
  std::uint64_t line() const noexcept { return record_line_; }         // of the row that `next` returned, from 1
  std::uint64_t header_line() const noexcept { return header_line_; }  // or that of the first row; 0: none yet
  /// About how many rows or fields the text has; see text_source::expect.
  std::uint64_t expect(text_marks marks);

  /// Reads the next row; false at the end. The fields are valid until the next call. The header is not returned.
  bool next(text_record& record);

  /// Reads rows that a reader knows at sight, block by block, up to the first other row, which is for `next`:
  /// `read(at, end, rows)` counts the rows that it read, each one line, and returns where the first other row begins.
  template <class Read>
  void read_simple_rows(Read const& read) {
    for (;;) {
      std::string_view const lines = rest();
      if (lines.empty()) return;
      std::uint64_t rows = 0;
      char const* const end = lines.data() + lines.size();
      char const* const after = read(lines.data(), end, rows);
      advance(after, rows);
      if (after != end) return;
    }
  }

  /// Reads a number of the last row with the text's decimal sign. Where the first rows have none, it is a point: the
  /// first number with a comma, or with three digits after a point, is refused, as it may separate thousands.
  template <class Number>
  number_reading read_number(std::string_view field, Number& number) {
    if (dialect_.decimal == '\0') find_decimal(field);
    return lull::read_number(field, number, dialect_.decimal);
  }

  /// Refuses the row that `next` returned, and says what it seems to be if it is no row of the table.
  [[noreturn]] void refuse(std::string const& message) const;
  [[noreturn]] void refuse_at(std::uint64_t line, std::string const& message) const;

 private:
  /// Returns the whole lines of the current block that are not read yet, or those of the next block; empty at the end.
  std::string_view rest();
  void advance(char const* to, std::uint64_t lines);
  void begin(dialect_options const& given);
  std::size_t take_delimiter_line(std::string_view sample, dialect_options const& given, std::string& named);
  bool fill();
  bool take_block();
  bool read_record(text_record& record);
  void find_decimal(std::string_view field);

  std::string const path_;
  delimited_limits const limits_;
  text_source source_;
  text_block block_;
  text_dialect dialect_;
  std::size_t at_ = 0;  // in the block
  std::uint64_t lines_ = 0;
  std::uint64_t record_line_ = 0;
  std::uint64_t header_line_ = 0;
  comment_lines const comments_;
  text_record const* record_ = nullptr;  // of the row that `next` returned
  std::size_t width_ = 0;                // columns; 0: no row yet
  bool header_read_ = false;
  bool returns_ = false;  // end lines
};

}  // namespace lull
