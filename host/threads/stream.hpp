// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lull {

/// What a threads_stream captured: operations in order, and what they keep alive. Copies are clones.
class threads_graph {
 public:
  std::size_t size() const noexcept { return operations_.size(); }

 private:
  friend class threads_stream;
  std::vector<std::function<void()>> operations_;
  std::vector<std::shared_ptr<void const>> kept_;
};

/// A stream on a CPU: a FIFO run by one thread. Replaces a trainer's stream and the workers'.
class threads_stream {
 public:
  static constexpr std::size_t max_queued = 1 << 20;

  threads_stream();
  ~threads_stream();  // runs what is queued, then ends the thread
  threads_stream(threads_stream const&) = delete;
  threads_stream& operator=(threads_stream const&) = delete;

  /// Does not block. Throws limit_error if `max_queued` operations wait. Under capture the operation goes into the
  /// graph.
  void enqueue(std::function<void()> operation);
  /// Blocks until all that is queued now has run.
  void synchronize();
  bool idle() const;

  /// Starts a capture: until end_capture, operations go into a graph. Throws usage_error during a capture.
  void begin_capture();
  threads_graph end_capture();
  /// Returns a number from 1 that is unique among all streams of the process.
  std::uint64_t id() const noexcept { return id_; }
  /// Returns the number of the current capture, from 1, unique in the process; 0: none.
  std::uint64_t capture() const;
  /// Makes the graph under capture hold `what`.
  void keep(std::shared_ptr<void const> what);
  /// Replays: enqueues the graph's operations. The graph lives until they are done.
  void launch(threads_graph const& graph);

 private:
  void serve();

  std::uint64_t const id_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::size_t enqueued_ = 0;
  std::size_t done_ = 0;
  bool ending_ = false;
  std::uint64_t capture_ = 0;
  threads_graph captured_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace lull
