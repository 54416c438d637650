// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

namespace lull::detail {

/// Device memory that a program asked back, and how much of it was freed.
struct memory_request {
  using time_point = std::chrono::steady_clock::time_point;

  std::uint64_t bytes = 0;
  time_point deadline{};
  std::uint64_t given = 0;
  bool is_seen = false;  // a tick has seen it and asked for the memory
  bool is_over = false;
};

/// Requests of any thread, and what one thread, which frees memory, says of them. Thread-safe.
class memory_requests {
 public:
  using time_point = memory_request::time_point;
  using pointer = std::shared_ptr<memory_request>;

  void ask(pointer request);
  /// Blocks until the request is over or its deadline has passed, and forgets it. Returns what was freed.
  std::uint64_t await(pointer const& request);
  /// Returns what was freed for a request that is over; nothing while it is not.
  std::optional<std::uint64_t> answer_to(memory_request const& request) const;
  void forget(pointer const& request);

  /// Returns how much is asked for, and notes that this was seen.
  std::uint64_t see();
  /// Returns the first deadline of those that are not over; nothing if all are.
  std::optional<time_point> first_deadline() const;
  /// Credits each request with what it asked for, and the last one with the rest.
  void hand_out(std::uint64_t went);
  /// Ends each request that has all it asked for, or whose time is over; with `no_more_comes` those that were seen.
  void answer(time_point now, bool no_more_comes);
  void end_all() noexcept;

 private:
  mutable std::mutex mutex_;
  std::condition_variable answered_;
  std::list<pointer> all_;
};

}  // namespace lull::detail
