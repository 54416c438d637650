// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lull::detail {

/// How a field is written. A comma is a decimal sign only where it stands in a field, so beside other delimiters.
enum class spelling { empty, word, whole, with_point, with_comma };

spelling spelling_of(std::string_view field);

constexpr bool is_number(spelling of) noexcept { return of >= spelling::whole; }

/// ASCII alone.
std::string lower_case(std::string_view text);

/// None for what is otherwise than `std::to_string` would write it.
std::optional<std::uint64_t> exact_whole(std::string_view field);

/// Whether its sign may separate thousands: `1,100`, `-12.500`.
bool may_group_thousands(std::string_view field);

using row = std::vector<std::string>;

/// The first rows, 100 at most, without blank lines.
std::vector<row> rows_of(std::string_view text, std::string_view delimiter);

/// The kinds of fields below the first row.
struct column_below {
  std::size_t numbers = 0;
  std::size_t words = 0;
  std::size_t with_sign = 0;  // numbers with a decimal sign

  bool number() const { return numbers != 0 && numbers >= words; }
  bool word() const { return words > numbers; }
};

std::vector<column_below> columns_below(std::vector<row> const& rows);

/// The column's whole numbers from row `begin` on; none if there is something else.
std::vector<std::uint64_t> whole_numbers(std::vector<row> const& rows, std::size_t begin, std::size_t column);

}  // namespace lull::detail
