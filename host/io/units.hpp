// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace lull {

/// Quantities as people write them on a command line or in a job file. Blanks are not skipped; the whole text must be
/// the quantity. Errors: usage_error, which says what was read and what is expected; the caller adds where.

/// "42", "-7".
std::int64_t parse_integer(std::string_view text);

/// "0.85", "1e-6"; infinities and NaN are refused.
double parse_real(std::string_view text);

/// Bytes: "1000", "512MiB", "1.5GiB", "4GB". Units: B, KiB, MiB, GiB, TiB (powers of 1024), KB, MB, GB, TB (of 1000).
/// A fraction needs a unit and must come to whole bytes.
std::uint64_t parse_size(std::string_view text);

/// "500ns", "100us", "2ms", "1.5s", "30min", "2h", "7d"; the unit is required, but for "0". Rounded to whole
/// nanoseconds; at most 100 years.
std::chrono::nanoseconds parse_duration(std::string_view text);

/// The shortest exact spelling in the largest unit up to seconds that is not above the value: "1.5s", "100us", "0".
std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace lull
