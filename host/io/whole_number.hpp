// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace lull {

/// Returns a number with a point or an exponent, such as 5.0 and 1e3, as the whole number that it is. Returns nothing
/// for a fraction, and from 2^53 on, where the text's number may be another one than the double.
constexpr std::optional<std::int64_t> whole_number(double value) noexcept {
  constexpr double end = 0x1p53;
  if (!(value > -end && value < end)) return std::nullopt;
  auto const whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? std::optional{whole} : std::nullopt;
}

/// Returns the whole number from 0 that a value of nlohmann's JSON is; nothing for anything else.
template <class Json>
std::optional<std::uint64_t> count_in(Json const& value) {
  if (value.is_number_unsigned()) return value.template get<std::uint64_t>();
  std::optional<std::int64_t> whole;
  if (value.is_number_integer()) whole = value.template get<std::int64_t>();  // -0 is one
  if (value.is_number_float()) whole = whole_number(value.template get<double>());
  return whole && *whole >= 0 ? std::optional{static_cast<std::uint64_t>(*whole)} : std::nullopt;
}

}  // namespace lull
