// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

namespace lull {

enum class number_reading { number, no_number, out_of_range };

/// Reads all of `text` as a number, with a plus sign or not. `decimal` is the decimal sign, '.' or ','.
template <class Number>
number_reading read_number(std::string_view text, Number& number, char decimal = '.') {
  std::array<char, 64> with_point{};
  if (decimal == ',' && text.find_first_of(".,") != text.npos) {
    if (text.find('.') != text.npos || text.size() > with_point.size()) return number_reading::no_number;
    std::replace_copy(text.begin(), text.end(), with_point.begin(), ',', '.');
    text = {with_point.data(), text.size()};
  }
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);  // allowed by C, not by from_chars
  auto const [rest, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (rest != text.data() + text.size() || code == std::errc::invalid_argument) return number_reading::no_number;
  return code == std::errc{} ? number_reading::number : number_reading::out_of_range;
}

}  // namespace lull
