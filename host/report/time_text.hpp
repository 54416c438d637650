// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lull {

/// Shown wherever times of the threads executor are.
inline constexpr std::string_view cpu_time_note =
    "Times are those of CPU threads that stand for a GPU: no measure of one.";

/// Returns a time for people, with three to four digits: "1.02 ms", "412.0 ns", "0".
std::string time_text(double ns);

/// Formats one double as printf does.
std::string formatted(char const* format, double value);

/// Returns a share, 1 being all: "0.12 %", "12.3 %".
std::string percent_text(double share);

}  // namespace lull
