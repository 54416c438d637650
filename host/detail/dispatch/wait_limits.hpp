// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>

#include <lull/host/detail/gate/gate.hpp>

namespace lull::detail {

/// Ends workers' waits on the device that take too long. Its thread makes no call to the driver, and takes no lock
/// under which one is made: such a call may itself wait for what comes after such a wait on a channel
/// (tests/model/channels.pml). Thread-safe.
class wait_limits {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  wait_limits();
  /// Ends all waits first. Workers that waited have left, or no longer matter.
  ~wait_limits();
  wait_limits(wait_limits const&) = delete;
  wait_limits& operator=(wait_limits const&) = delete;

  /// Adds a wait; call it before the wait is enqueued. Waits of one gate come in the order of their bubbles.
  void add(gate& at, std::uint64_t bubble, time_point until);
  /// Ends all waits of bubbles that have not opened: what they would delay is worth more.
  void end_all();
  /// Forgets a wait whose worker has left, or was never enqueued.
  void forget(gate& at, std::uint64_t bubble);

 private:
  struct pending_wait {
    gate* at;
    std::uint64_t bubble;
    time_point until;
  };

  void serve();
  void look(time_point now);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<pending_wait> waits_;
  bool ending_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace lull::detail
