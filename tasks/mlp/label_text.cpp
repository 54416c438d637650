// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/mlp/label_text.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include <lull/host/io/text_record.hpp>

namespace lull {
namespace {

bool is_control(char byte) { return static_cast<unsigned char>(byte) < ' ' || byte == '\x7f'; }

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

/// The field with 9 for each run of digits: `2020-01-31` is 9-9-9.
std::string shape_of(std::string_view field) {
  std::string shape;
  for (char const byte : field) {
    if (!is_digit(byte)) {
      shape += byte;
    } else if (!shape.ends_with('9')) {
      shape += '9';
    }
  }
  return shape;
}

template <std::size_t count>
bool is_one_of(std::string_view text, std::array<std::string_view, count> const& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool is_plain_number(std::string_view shape) {
  static constexpr std::array<std::string_view, 6> shapes{"9", "9.9", "9,9", "9,9,9", "9,9.9", "9.9,9"};
  return is_one_of(shape, shapes);
}

bool is_date(std::string_view shape) {
  for (std::string_view const date : {"9-9-9", "9/9/9", "9.9.9"}) {
    if (shape.starts_with(date) && (shape.size() == 5 || shape[5] == ' ' || shape[5] == 'T')) return true;
  }
  return false;
}

bool is_time(std::string_view shape) {
  static constexpr std::array<std::string_view, 3> shapes{"9:9", "9:9:9", "9:9:9.9"};
  return is_one_of(shape.substr(0, shape.find(' ')), shapes);
}

bool take(std::string_view& text, std::initializer_list<std::string_view> marks) {
  for (std::string_view const mark : marks) {
    if (text.starts_with(mark)) {
      text.remove_prefix(mark.size());
    } else if (text.ends_with(mark)) {
      text.remove_suffix(mark.size());
    } else {
      continue;
    }
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return true;
  }
  return false;
}

/// `1,234`, `1.234.567,8`, `1'234`: after one to three digits groups of three, all after the same sign.
bool has_thousands(std::string_view field) {
  std::size_t const first = field.find_first_not_of("0123456789");
  if (first == 0 || first == field.npos || first > 3) return false;
  for (std::string_view const sign : {",", ".", "'", " ", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x99"}) {
    std::string_view rest = field.substr(first);
    std::size_t groups = 0;
    while (rest.starts_with(sign) && rest.size() >= sign.size() + 3 &&
           std::all_of(rest.begin() + static_cast<std::ptrdiff_t>(sign.size()),
                       rest.begin() + static_cast<std::ptrdiff_t>(sign.size()) + 3, is_digit)) {
      rest.remove_prefix(sign.size() + 3);
      ++groups;
    }
    std::string const left = shape_of(rest);
    if (groups != 0 && (left.empty() || left == ".9" || left == ",9")) return true;
  }
  return false;
}

}  // namespace

bool is_missing_mark(std::string_view field) {
  static constexpr std::array<std::string_view, 15> marks{"NA",   "N/A",  "n/a",  "<NA>", "#N/A", "#NA", "NaN", "nan",
                                                          "-NaN", "-nan", "NULL", "null", "None", "NaT", "?"};
  return is_one_of(field, marks);
}

std::string label_fault(std::string_view label) {
  if (!is_utf8(label)) return "is not UTF-8: save the file as UTF-8";
  auto const found = std::find_if(label.begin(), label.end(), is_control);
  if (found == label.end()) return {};
  std::string const what = *found == '\n' || *found == '\r' ? "a line end"
                           : *found == '\t'                 ? "a tab"
                                                            : "a control character";
  return "holds " + what + ", which the name of a class must not: give the class another name";
}

std::string_view value_kind(std::string_view field) {
  if (is_missing_mark(field)) return "a mark for a missing value";
  while (field.starts_with('-') || field.starts_with('+')) field.remove_prefix(1);
  std::string const shape = shape_of(field);
  if (has_thousands(field)) return "a number with signs between its thousands";
  if (is_date(shape)) return "a date";
  if (is_time(shape)) return "a time";
  std::string_view number = shape;
  if (take(number, {"%"})) return is_plain_number(number) ? "a percentage" : "";
  if (take(number, {"$", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5", "\xe2\x82\xb9", "USD", "EUR", "GBP"})) {
    take(number, {"-"});
    return is_plain_number(number) ? "an amount of money" : "";
  }
  return "";
}

std::string class_text(std::string_view name) { return "`" + clean_text(name) + "`"; }

}  // namespace lull
