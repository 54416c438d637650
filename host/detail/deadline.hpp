// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace lull {

/// Returns the instant `at_most` from now; a negative time counts as 0. Beyond the clock's range it is the clock's last
/// instant, which never comes: a plain sum would overflow, and the wait would end at once.
inline std::chrono::steady_clock::time_point deadline_after(std::chrono::nanoseconds at_most) noexcept {
  using clock = std::chrono::steady_clock;
  auto const now = clock::now();
  if (at_most.count() < 0) return now;
  return at_most < clock::time_point::max() - now ? now + at_most : clock::time_point::max();
}

/// Returns what is left until `deadline`, at least 0.
inline std::chrono::nanoseconds left_until(std::chrono::steady_clock::time_point deadline) noexcept {
  auto const left = deadline - std::chrono::steady_clock::now();
  return left.count() > 0 ? left : std::chrono::nanoseconds{0};
}

}  // namespace lull
