// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include <lull/host/closing.hpp>

namespace lull::detail {

/// Chooses how a gate closes, by how long its workers took to leave recently.
class close_policy {
 public:
  static constexpr std::chrono::nanoseconds max_longer{3'000};  // a wait costs about as much
  static constexpr std::chrono::nanoseconds at_first{1'000};    // until one was measured

  /// Adds the time from the first block's sight of the close to the last block's leaving.
  void add(std::chrono::nanoseconds took) noexcept { recent_[count_++ % recent_.size()] = took; }

  /// Returns what suits the slowest but one of the recent times. `launch_gap`: from the first sight of a close until
  /// the next kernel may be placed, if nothing makes that longer.
  closing choose(std::chrono::nanoseconds launch_gap) const noexcept {
    using std::chrono::nanoseconds;
    if (count_ < recent_.size()) return {false, at_first};
    auto sorted = recent_;
    std::nth_element(sorted.begin(), sorted.end() - 2, sorted.end());
    nanoseconds const late = *(sorted.end() - 2) - launch_gap;
    if (late > max_longer) return {true, nanoseconds{0}};
    return {false, std::max(late, nanoseconds{0})};
  }

 private:
  std::array<std::chrono::nanoseconds, 16> recent_{};
  std::uint64_t count_ = 0;
};

}  // namespace lull::detail
