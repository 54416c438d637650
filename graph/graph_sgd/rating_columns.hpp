// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <lull/host/io/text_dialect.hpp>
#include <string>

namespace lull {

inline constexpr std::array<char const*, 3> rating_parts{"user", "item", "rating"};

/// Which columns hold the user, the item and the rating, from 0.
struct rating_columns {
  std::array<std::size_t, 3> at{};
  std::string taken;  // one line: the dialect, these columns, what is not read, what else the text could mean
  std::string fault;  // why they cannot be told; empty: they can
};

/// `given`: names or numbers from 1, with commas between them; empty: found by the header's names. Without
/// a header, or where its names are numbers, the first three columns that are no row numbers.
rating_columns find_rating_columns(text_dialect const& dialect, std::string const& given);

}  // namespace lull
