// SPDX-License-Identifier: Apache-2.0
#include <lull/host/report/time_text.hpp>

#include <array>
#include <cstdio>

namespace lull {
namespace {

struct time_unit {
  double ns;
  std::string_view name;
};

/// Returns the unit in which a time of this length reads best.
time_unit unit_for(double span_ns) {
  if (span_ns >= 2e9) return {1e9, "s"};
  if (span_ns >= 2e6) return {1e6, "ms"};
  if (span_ns >= 2e3) return {1e3, "µs"};
  return {1, "ns"};
}

}  // namespace

std::string time_text(double ns) {
  if (ns == 0) return "0";
  time_unit const in = unit_for(ns);
  return formatted(ns / in.ns < 10 ? "%.2f " : "%.1f ", ns / in.ns) + std::string{in.name};
}

std::string percent_text(double share) { return formatted(share < 0.0995 ? "%.2f %%" : "%.1f %%", 100 * share); }

std::string formatted(char const* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

}  // namespace lull
