// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

namespace lull {

/// How the training kernels behind a bubble are kept from being placed around worker blocks that are still there, which would
/// cost them a whole wave. `none`: the workers are out within the launch gap anyway. `gap`: an empty kernel behind the closing edge
/// makes the gap longer. `join`: the trainer's stream waits until the last block is out.
enum class landing { none, gap, join };

/// Chooses the landing of a gate from how long its workers took to leave, lately.
class landing_policy {
 public:
  // On a H200 a close lands 1.7 µs before the first block of the kernel behind it may be placed; the empty kernel adds 1.3 µs.
  static constexpr std::chrono::nanoseconds launch_gap{1'400};
  static constexpr std::chrono::nanoseconds longer_gap{3'000};

  /// From the first sight of the close by a block to the last block out.
  void add(std::chrono::nanoseconds took) noexcept { recent_[count_++ % recent_.size()] = took; }

  /// What suits the slowest but one of the recent leavings; until some are known, the gap.
  landing choose() const noexcept {
    if (count_ < recent_.size()) return landing::gap;
    auto sorted = recent_;
    std::nth_element(sorted.begin(), sorted.end() - 2, sorted.end());
    std::chrono::nanoseconds const slow = *(sorted.end() - 2);
    if (slow <= launch_gap) return landing::none;
    return slow <= longer_gap ? landing::gap : landing::join;
  }

 private:
  std::array<std::chrono::nanoseconds, 16> recent_{};
  std::uint64_t count_ = 0;
};

}  // namespace lull
