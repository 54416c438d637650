// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace lull::detail {

/// Wakes the dispatcher. Thread-safe.
class wake_signal {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  void notify() {
    {
      std::lock_guard const lock{mutex_};
      woken_ = true;
    }
    changed_.notify_all();
  }
  /// Wakes it if it means to sleep for longer. Costs one load where it does not.
  void notify_before(time_point when) {
    if (when.time_since_epoch().count() < planned_.load(std::memory_order_relaxed) - slack) notify();
  }
  /// Returns at that time, or when notified since the last return.
  void sleep_until(time_point when) {
    std::unique_lock lock{mutex_};
    planned_.store(when.time_since_epoch().count(), std::memory_order_relaxed);
    changed_.wait_until(lock, when, [this] { return woken_; });
    woken_ = false;
    // it is awake, and looks at all there is before it sleeps again
    planned_.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr time_point::rep slack = 20'000;  // ns that are not worth a call to the system

  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  std::atomic<time_point::rep> planned_{0};
};

}  // namespace lull::detail
