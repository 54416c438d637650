// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include <lull/bench/side_runner/graph_pieces.hpp>

namespace lull::bench {

enum class launching : int {
  while_open = 0,  // the next piece, as long as the host word says so
  planned = 1,     // at the opening, as many pieces as fit into the site's previous bubble
};

struct side_runner_options {
  launching how = launching::while_open;
  std::uint32_t max_queued = 1;   // launches that have not ended; planned: always one batch
  cudaStream_t stream = nullptr;  // null: a stream of its own, of the lowest priority
};

/// Launches a graph's pieces from a host thread. A mapped host word, which the trainer's stream or the host sets, says
/// whether it may. The thread spins: on the word while there is nothing to launch, and on a stamp that the side stream
/// writes at the end of each launch. It calls the driver only to launch.
class side_runner {
 public:
  static constexpr std::uint32_t max_bubbles = 1U << 15;
  static constexpr std::uint32_t max_sites = 64;
  static constexpr std::uint32_t max_batch = 1024;  // planned pieces
  static constexpr std::chrono::seconds max_wait{20};

  /// `pieces` must live as long as this. Throws usage_error and cuda_error.
  side_runner(graph_pieces const& pieces, side_runner_options const& options);
  ~side_runner();
  side_runner(side_runner const&) = delete;
  side_runner& operator=(side_runner const&) = delete;

  /// Enqueue a bubble's edges on the trainer's stream; they do not wait. One thread at a time. Throw limit_error after
  /// max_bubbles.
  void open(cudaStream_t trainer, std::uint32_t site);
  void close(cudaStream_t trainer);
  /// By the host, without a trainer's stream: at once; `suspend` returns when no launch is on the device.
  void resume();
  void suspend();
  /// Ends the thread; what is launched ends first. Throws what the thread has met.
  void stop();

  /// Whole steps that have ended.
  std::uint64_t steps() const noexcept { return steps_.load(std::memory_order_relaxed); }
  /// After stop: of each bubble with side work, how long after its close the last launch ended, by the device's clock.
  std::vector<std::chrono::nanoseconds> drains() const;

 private:
  struct bubble {
    std::uint32_t site = 0;
    std::uint32_t previous = 0;  // bubble of the site, plus one; 0: none
    std::uint64_t end_ns = 0;    // of its last launch
  };
  struct launched {
    std::uint32_t bubble;
    std::uint32_t slot;
    std::uint32_t steps;  // that end with it
  };
  struct mapped_words;
  struct unpin {
    void operator()(mapped_words* words) const noexcept;
  };

  void run() noexcept;
  void serve(std::uint32_t seen);
  void launch_next(std::uint32_t bubble);
  void launch_plan(std::uint32_t bubble);
  std::uint32_t launch_piece();
  void stamp_end(std::uint32_t bubble, std::uint32_t steps);
  void collect_oldest();
  void set_from_host(std::uint32_t value);
  std::uint32_t next_bubble(std::uint32_t site);

  graph_pieces const& pieces_;
  side_runner_options const options_;
  int device_ = 0;
  cuda_stream own_stream_;
  std::unique_ptr<mapped_words, unpin> words_;
  std::vector<bubble> bubbles_;
  std::vector<std::uint32_t> last_of_site_;  // plus one
  std::atomic<std::uint32_t> enqueued_{0};   // bubbles; publishes their site
  std::atomic<std::uint32_t> seen_{0};       // the word's value, when all that was launched before has ended
  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};  // publishes failure_
  std::atomic<std::uint64_t> steps_{0};
  // of the thread alone
  std::deque<launched> pending_;
  std::uint32_t cursor_ = 0;
  std::uint32_t next_slot_ = 0;
  std::uint32_t planned_ = 0;  // the last bubble that was planned, plus one
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace lull::bench
