// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace lull::detail {

using log_function = std::function<void(std::string_view)>;

/// Calls the program's log callback on its own thread, one line at a time until `close`. So no thread of Lull and no
/// call of the program waits for what the callback waits for, such as an interpreter's lock. Thread-safe.
class log_queue {
 public:
  static constexpr std::size_t max_lines = 256;
  /// How long `close` still gives out lines; then it drops the rest.
  static constexpr std::chrono::seconds max_last_lines{1};

  /// `callback` may be empty; then lines are dropped. What it throws is dropped.
  explicit log_queue(log_function callback);
  ~log_queue() { close(); }
  log_queue(log_queue const&) = delete;
  log_queue& operator=(log_queue const&) = delete;

  /// Adds a line without waiting. If the queue is full it drops the line, and a later line says how many were dropped.
  void add(std::string_view line) noexcept;
  /// Gives out queued lines for at most a second, and waits for the line that is being given out. The threads that add
  /// later lines give them out. A forked child has no thread and drops all.
  void close() noexcept;
  std::uint64_t dropped() const;

 private:
  void serve();
  void give(std::string_view line) noexcept;

  log_function const callback_;
  std::uint64_t const forks_;
  mutable std::mutex mutex_;  // guards all that follows
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  std::uint64_t dropped_ = 0;
  std::uint64_t told_dropped_ = 0;
  bool closing_ = false;
  std::chrono::steady_clock::time_point give_up_{};
  std::thread thread_;  // last: it uses all of the above; none without a callback
};

}  // namespace lull::detail
