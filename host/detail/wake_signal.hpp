// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace lull::detail {

/// Wakes the dispatcher. Thread-safe.
class wake_signal {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  void notify() { notify_before(time_point::min()); }
  /// Wakes the dispatcher by `when` at the latest. Costs one load if it would not sleep longer.
  void notify_before(time_point when) {
    if (when.time_since_epoch().count() >= planned_.load(std::memory_order_acquire)) return;
    {
      std::lock_guard const lock{mutex_};
      sooner_ = std::min(sooner_, when);
    }
    changed_.notify_all();
  }
  /// Returns at that time, or earlier if a thread has asked for it since the last return.
  void sleep_until(time_point when) {
    std::unique_lock lock{mutex_};
    // release: what it has looked at by now. A thread that comes later and needs it no sooner need not wake it.
    planned_.store(when.time_since_epoch().count(), std::memory_order_release);
    while (std::chrono::steady_clock::now() < std::min(when, sooner_))
      changed_.wait_until(lock, std::min(when, sooner_));
    sooner_ = time_point::max();
    // While it is awake it may already have looked where something is new.
    planned_.store(time_point::max().time_since_epoch().count(), std::memory_order_release);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  time_point sooner_ = time_point::max();
  std::atomic<time_point::rep> planned_{time_point::max().time_since_epoch().count()};
};

}  // namespace lull::detail
