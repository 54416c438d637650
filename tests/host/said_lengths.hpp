// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <vector>

#include <lull/tests/host/runtime_recorded.hpp>

namespace lull {

/// A runtime whose steps are as long as the test says, one after another, whatever they took.
class said_lengths : public runtime_recorded {
 protected:
  said_lengths() {
    seen.length_of_step = [this] {
      std::lock_guard const lock{mutex_};
      return lengths_.at(told_++);
    };
  }
  /// Says how long the step is that was marked last, and waits until all before it are timed.
  void say(runtime const& side, std::chrono::nanoseconds length) {
    {
      std::lock_guard const lock{mutex_};
      lengths_.push_back(length);
    }
    trainer.synchronize();
    await_that([&] { return side.steps().report().timed + 1 >= side.steps().report().begun; });
  }
  /// Forgets what was said. The next runtime has steps of its own.
  void forget() {
    std::lock_guard const lock{mutex_};
    lengths_.clear();
    told_ = 0;
  }

 private:
  std::mutex mutex_;
  std::vector<std::chrono::nanoseconds> lengths_;
  std::size_t told_ = 0;
};

}  // namespace lull
