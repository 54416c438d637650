// SPDX-License-Identifier: Apache-2.0
// Numbers as most files have them, of few digits, read at sight. What is longer goes to text_number.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lull {

constexpr bool is_digit(char byte) noexcept { return byte >= '0' && byte <= '9'; }

/// Appends up to `most` digits to the number; returns where they end. What is no digit must follow in memory.
constexpr char const* read_digits(char const* at, std::ptrdiff_t most, std::uint64_t& number) noexcept {
  char const* const begin = at;
  for (; is_digit(*at) && at - begin < most; ++at) number = number * 10 + static_cast<std::uint64_t>(*at - '0');
  return at;
}

/// Reads whole numbers of up to nine digits. Returns where it ends, or null.
constexpr char const* read_short_id(char const* at, std::uint64_t& id) noexcept {
  id = 0;
  char const* const end = read_digits(at, 9, id);
  return end == at || is_digit(*end) ? nullptr : end;
}

/// Reads a value of at most seven digits, which fp32 holds as a whole number, and so the power of ten: one division
/// rounds as from_chars does. Returns where it ends, or null. Source: Clinger, "How to read floating point numbers
/// accurately", PLDI 1990, section 5.
constexpr char const* read_short_value(char const* at, float& value) noexcept {
  constexpr float power[] = {1, 1e1F, 1e2F, 1e3F, 1e4F, 1e5F, 1e6F};
  std::uint64_t digits = 0;
  char const* const point = read_digits(at, 7, digits);
  char const* const end = *point == '.' ? read_digits(point + 1, 7 - (point - at), digits) : point;
  if (point == at || is_digit(*end)) return nullptr;
  value = static_cast<float>(digits) / power[end == point ? 0 : end - point - 1];
  return end;
}

}  // namespace lull
