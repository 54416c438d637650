// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <lull/host/detail/deadline.hpp>

namespace lull {

/// How long a test waits for what it expects. Against hangs only: what is right is there within milliseconds.
inline constexpr std::chrono::seconds long_enough{30};

/// Looks from time to time until `so()`; returns false where that takes too long.
template <class So>
[[nodiscard]] bool within_time(So&& so, std::chrono::nanoseconds at_most = long_enough) {
  auto const deadline = deadline_after(at_most);
  for (int looks = 0; !so(); ++looks) {
    if (left_until(deadline).count() == 0) return false;
    if (looks < 1'000) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
  }
  return true;
}

/// Returns when `so()`. Throws where that takes too long, which ends the test: not for a thread of a test's own, nor
/// for a destructor.
template <class So>
void await_that(So&& so, std::chrono::nanoseconds at_most = long_enough) {
  if (!within_time(so, at_most))
    throw std::runtime_error{"a test waited in vain for " + std::to_string(at_most.count() / 1'000'000) + " ms"};
}

}  // namespace lull
