// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace lull {

/// A stream on a CPU: a FIFO run by one thread. Stands for a trainer's stream, and for the workers'.
class threads_stream {
 public:
  static constexpr std::size_t most_queued = 1 << 20;

  threads_stream();
  ~threads_stream();  // runs what is queued, then ends the thread
  threads_stream(threads_stream const&) = delete;
  threads_stream& operator=(threads_stream const&) = delete;

  /// Does not block. Throws limit_error when `most_queued` operations wait.
  void enqueue(std::function<void()> operation);
  /// Blocks until all that is queued now has run.
  void synchronize();
  bool idle() const;

 private:
  void serve();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::size_t enqueued_ = 0;
  std::size_t done_ = 0;
  bool ending_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace lull
