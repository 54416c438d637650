// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include <lull/host/closing.hpp>

namespace lull::detail {

/// Chooses how a gate closes, from how long its workers took to leave, lately.
class close_policy {
 public:
  static constexpr std::chrono::nanoseconds max_longer{3'000};  // a wait costs about as much
  static constexpr std::chrono::nanoseconds at_first{1'000};    // until something is known

  /// From the first sight of the close by a block to the last block out.
  void add(std::chrono::nanoseconds took) noexcept { recent_[count_++ % recent_.size()] = took; }

  /// What suits the slowest but one of the recent leavings. `launch_gap`: from the first sight of a close until the
  /// kernel behind it may be placed, if nothing makes that longer.
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
