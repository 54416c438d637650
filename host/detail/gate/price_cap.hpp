// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <lull/host/runtime.hpp>

namespace lull::detail {

/// Keeps what harvested bubbles cost a stream, by their edges and by workers' leaving, below a hundredth of its time:
/// where they cost more, a microsecond of training counts as more microseconds of side work, so only longer bubbles are
/// worth it. That is judged by windows of 0.1 s or more. Not thread-safe.
class price_cap {
 public:
  using ns = std::chrono::nanoseconds;

  /// Adds a bubble. `at`: when it opened, on any clock that goes on. `price`: what it costs the stream; 0: nothing, for
  /// it is passed over.
  void add(ns at, ns price) noexcept {
    if (bubbles_++ == 0) from_ = at;
    price_ += price;
    ns const taken = at - from_;
    if (bubbles_ < least_bubbles || taken < least_time) return;
    double const share = static_cast<double>(price_.count()) / static_cast<double>(taken.count());
    if (share > most) {
      times_ = std::min(times_ * share / most, max_times);
    } else {
      times_ = std::max(times_ / easing, 1.0);
    }
    bubbles_ = 1;
    from_ = at;
    price_ = {};
  }

  /// Returns how many times what was asked for a microsecond of training counts as.
  double times() const noexcept { return times_; }

 private:
  static constexpr double most = slowdown_cap;
  static constexpr double easing = 1.25, max_times = 1e4;
  static constexpr std::uint64_t least_bubbles = 32;
  static constexpr ns least_time = std::chrono::milliseconds{100};

  std::uint64_t bubbles_ = 0;  // of this window
  ns from_{0};
  ns price_{0};
  double times_ = 1;
};

}  // namespace lull::detail
