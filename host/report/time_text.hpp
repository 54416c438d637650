// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lull {

/// Said wherever times of the threads executor are shown.
inline constexpr std::string_view cpu_time_note =
    "Times are those of CPU threads that stand for a GPU: no measure of one.";

struct time_unit {
  double ns;
  std::string_view name;
};

/// The unit in which a span of this length reads best.
time_unit unit_for(double span_ns);

/// For people, three to four digits: "1.02 ms", "412.0 ns", "0".
std::string time_text(double ns);

/// By printf's format for one double.
std::string formatted(char const* format, double value);

/// Of an axis: the largest of 1, 2, 5 × 10^n that gives at least `ticks` steps. The length is above 0.
double tick_step(double length, int ticks);

}  // namespace lull
