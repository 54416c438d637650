// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lull {

/// The fields of one line, or of several where a quoted field holds line ends.
struct text_record {
  std::vector<std::string_view> fields;
  std::vector<std::string> unescaped;  // what fields with doubled quotes point to
  char const* end = nullptr;           // after the line's end; null: a quoted field is still open where the text ends
  std::uint64_t lines = 1;
  std::size_t stray = 0;  // column from 1 in which text follows a closing quote; 0: none
};

/// Divides the record at `at`; `end` follows a line feed. Quotes as in RFC 4180; blanks around a field are dropped.
void divide_record(char const* at, char const* end, std::string_view delimiter, text_record& record);

/// Whether the line holds blanks alone, none of them a delimiter.
bool is_blank_line(std::string_view line, std::string_view delimiter);

bool is_utf8(std::string_view text);

/// Returns text of a file for a note of one line: UTF-8 of 40 bytes at most, then `…`. What is no UTF-8 and what
/// controls a screen or the order of signs is `?`. `quote` is for bytes that may be anything.
std::string clean_text(std::string_view text);

/// Divides `a,b,c`; a name with a comma is quoted.
std::vector<std::string> divide_names(std::string_view list);

}  // namespace lull
