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

/// What a threads_stream captured: operations in order, and what they need to live. Copies are clones.
class threads_graph {
 public:
  std::size_t size() const noexcept { return operations_.size(); }

 private:
  friend class threads_stream;
  std::vector<std::function<void()>> operations_;
  std::vector<std::shared_ptr<void const>> kept_;
};

/// A stream on a CPU: a FIFO run by one thread. Stands for a trainer's stream, and for the workers'.
class threads_stream {
 public:
  static constexpr std::size_t max_queued = 1 << 20;

  threads_stream();
  ~threads_stream();  // runs what is queued, then ends the thread
  threads_stream(threads_stream const&) = delete;
  threads_stream& operator=(threads_stream const&) = delete;

  /// Does not block. Throws limit_error when `max_queued` operations wait. Under capture the operation goes into the
  /// graph.
  void enqueue(std::function<void()> operation);
  /// Blocks until all that is queued now has run.
  void synchronize();
  bool idle() const;

  /// From now on until end_capture what is enqueued goes into a graph. Throws usage_error when that is so already.
  void begin_capture();
  threads_graph end_capture();
  /// Of all streams of the process that ever were, from 1.
  std::uint64_t id() const noexcept { return id_; }
  /// Number of the capture under way, from 1, different for all streams of the process; 0: none.
  std::uint64_t capture() const;
  /// The graph under way holds `what`.
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
