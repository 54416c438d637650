// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

namespace lull {

/// How the training kernels behind a bubble are kept from being placed around worker blocks that are still there, which would
/// cost them a whole wave: they come later by `longer` (zero: the workers are out within the launch gap anyway), or, with
/// `waits`, when all blocks have begun to leave or 50 µs have passed. A wait depends on nothing but these blocks.
struct landing {
  bool waits = false;
  std::chrono::nanoseconds longer{0};

  friend constexpr bool operator==(landing, landing) = default;
};

/// Chooses the landing of a gate from how long its workers took to leave, lately.
class landing_policy {
 public:
  static constexpr std::chrono::nanoseconds most_longer{3'000};  // a wait costs about as much
  static constexpr std::chrono::nanoseconds at_first{1'000};     // until something is known

  /// From the first sight of the close by a block to the last block out.
  void add(std::chrono::nanoseconds took) noexcept { recent_[count_++ % recent_.size()] = took; }

  /// What suits the slowest but one of the recent leavings. `launch_gap`: from the first sight of a close until the kernel
  /// behind it may be placed, if nothing makes that longer.
  landing choose(std::chrono::nanoseconds launch_gap) const noexcept {
    using std::chrono::nanoseconds;
    if (count_ < recent_.size()) return {false, at_first};
    auto sorted = recent_;
    std::nth_element(sorted.begin(), sorted.end() - 2, sorted.end());
    nanoseconds const late = *(sorted.end() - 2) - launch_gap;
    if (late > most_longer) return {true, nanoseconds{0}};
    return {false, std::max(late, nanoseconds{0})};
  }

 private:
  std::array<std::chrono::nanoseconds, 16> recent_{};
  std::uint64_t count_ = 0;
};

}  // namespace lull
