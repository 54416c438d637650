// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

namespace lull {

/// What a site's bubbles were like lately; decides whether the next one is worth harvesting.
class history {
 public:
  /// A worker costs the training stream two edges and takes some microseconds to start: below this a bubble is not worth it.
  static constexpr std::chrono::nanoseconds worth = std::chrono::microseconds{30};
  /// A site that is passed over is measured again one time in so many.
  static constexpr std::uint64_t look_again = 64;

  void add(std::chrono::nanoseconds length) noexcept {
    recent_[count_ % recent_.size()] = length;
    ++count_;
  }

  /// Zero when nothing was measured yet.
  std::chrono::nanoseconds longest() const noexcept {
    auto const used = recent_.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(count_, recent_.size()));
    return used == recent_.begin() ? std::chrono::nanoseconds{0} : *std::max_element(recent_.begin(), used);
  }

  /// Called once a bubble: true: pass this one over.
  bool pass_over() noexcept {
    if (count_ < recent_.size() || longest() >= worth) return false;
    return ++passed_ % look_again != 0;
  }

 private:
  std::array<std::chrono::nanoseconds, 8> recent_{};
  std::uint64_t count_ = 0;
  std::uint64_t passed_ = 0;
};

/// The lease for workers launched at close, where nothing depends on it for liveness: four times the longest recent bubble,
/// within 5 ms to 2 s; 2 s without a history.
inline constexpr std::chrono::nanoseconds lease_at_close(std::chrono::nanoseconds longest) noexcept {
  using namespace std::chrono_literals;
  if (longest.count() == 0) return 2s;
  return std::clamp<std::chrono::nanoseconds>(longest * 4, 5ms, 2s);
}

/// The lease for workers launched at open, where the trainer's host may be waiting for them.
inline constexpr std::chrono::nanoseconds lease_at_open = std::chrono::microseconds{200};

}  // namespace lull
