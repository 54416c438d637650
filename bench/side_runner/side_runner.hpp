// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <lull/bench/side_runner/graph_pieces.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/measure/cuda/stream_words.hpp>

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
  side_runner(graph_pieces const& pieces, side_runner_options const& options)
      : pieces_(pieces), options_(options), bubbles_(max_bubbles), last_of_site_(max_sites) {
    if (options.max_queued == 0 || options.max_queued >= slots) throw usage_error{"max_queued must be 1 to 7"};
    LULL_CUDA(cudaGetDevice(&device_));
    void* memory = nullptr;
    LULL_CUDA(cudaHostAlloc(&memory, sizeof(mapped_words), cudaHostAllocMapped | cudaHostAllocPortable));
    words_.reset(new (memory) mapped_words{});
    if (options.stream == nullptr) own_stream_ = cuda_stream{priorities().lowest};
    thread_ = std::thread{[this] { run(); }};
  }
  ~side_runner() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  side_runner(side_runner const&) = delete;
  side_runner& operator=(side_runner const&) = delete;

  /// Enqueue a bubble's edges on the trainer's stream; they do not wait. One thread at a time. Throw limit_error after
  /// max_bubbles.
  void open(cudaStream_t trainer, std::uint32_t site) {
    std::uint32_t const bubble = next_bubble(site);
    write_word(trainer, &words_->word, 2 * bubble + 1);
    trainer::stamp(trainer, &words_->opened_ns[bubble]);
  }
  void close(cudaStream_t trainer) {
    std::uint32_t const opened = enqueued_.load(std::memory_order_relaxed);
    if (opened == 0) throw usage_error{"close comes before open: no bubble was opened"};
    std::uint32_t const bubble = opened - 1;
    write_word(trainer, &words_->word, 2 * bubble + 2);
    trainer::stamp(trainer, &words_->closed_ns[bubble]);
  }
  /// By the host, without a trainer's stream: at once; `suspend` returns when no launch is on the device.
  void resume() { set_from_host(2 * next_bubble(0) + 1); }
  void suspend() {
    std::uint32_t const value = 2 * enqueued_.load(std::memory_order_relaxed);
    set_from_host(value);
    auto const until = steady_clock::now() + max_wait;
    while (seen_.load(std::memory_order_acquire) != value && !failed_.load(std::memory_order_acquire)) {
      if (steady_clock::now() > until) throw limit_error{"the side work's thread does not stop launching"};
      std::this_thread::yield();
    }
  }
  /// Ends the thread; what is launched ends first. Throws what the thread has met.
  void stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
    if (failure_) std::rethrow_exception(failure_);
  }

  /// Whole steps that have ended.
  std::uint64_t steps() const noexcept { return steps_.load(std::memory_order_relaxed); }
  /// After stop: of each bubble with side work, how long after its close the last launch ended, by the device's clock.
  std::vector<std::chrono::nanoseconds> drains() const {
    std::vector<nanoseconds> found;
    for (std::uint32_t at = 0; at < enqueued_.load(std::memory_order_relaxed); ++at) {
      std::uint64_t const closed_ns = words_->closed_ns[at];
      std::uint64_t const end_ns = bubbles_[at].end_ns;
      if (closed_ns != 0 && end_ns != 0) found.emplace_back(end_ns > closed_ns ? end_ns - closed_ns : 0);
    }
    return found;
  }

 private:
  using nanoseconds = std::chrono::nanoseconds;
  using steady_clock = std::chrono::steady_clock;

  static constexpr std::uint32_t slots = 8;  // of ends; launches that have not ended are fewer

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
  /// The word is odd while a bubble is open: 2 · bubble + 1, and 2 · bubble + 2 after its close.
  struct mapped_words {
    alignas(64) std::uint32_t word;
    alignas(64) std::uint64_t ends_ns[slots];
    alignas(64) std::uint64_t opened_ns[max_bubbles];
    std::uint64_t closed_ns[max_bubbles];
  };
  struct unpin {
    void operator()(mapped_words* words) const noexcept { cudaFreeHost(words); }
  };

  /// A place of the host that the device writes. Acquire: what the device wrote before is seen, too.
  template <class Word>
  static Word load(Word& word) {
    return std::atomic_ref<Word>{word}.load(std::memory_order_acquire);
  }
  static void pause() noexcept {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
  }

  void run() noexcept try {
    LULL_CUDA(cudaSetDevice(device_));
    while (!stopping_.load(std::memory_order_relaxed)) serve(load(words_->word));
    while (!pending_.empty()) collect_oldest();
  } catch (...) {
    failure_ = std::current_exception();
    failed_.store(true, std::memory_order_release);  // publishes failure_
  }
  void serve(std::uint32_t seen) {
    if (seen % 2 == 0) {
      while (!pending_.empty()) collect_oldest();
      seen_.store(seen, std::memory_order_release);  // publishes that nothing is on the device
      pause();
      return;
    }
    std::uint32_t const bubble = seen / 2;
    if (enqueued_.load(std::memory_order_acquire) <= bubble) return;
    if (options_.how == launching::planned) {
      launch_plan(bubble);
    } else {
      launch_next(bubble);
    }
  }
  void launch_next(std::uint32_t bubble) {
    stamp_end(bubble, launch_piece());
    while (pending_.size() >= options_.max_queued) collect_oldest();
  }
  void launch_plan(std::uint32_t bubble) {
    if (planned_ == bubble + 1) {
      pause();
      return;
    }
    planned_ = bubble + 1;
    std::uint32_t const previous = bubbles_[bubble].previous;
    if (previous == 0) return;  // the site's first: its length is not known
    std::uint64_t const opened_ns = load(words_->opened_ns[previous - 1]);
    std::uint64_t const closed_ns = load(words_->closed_ns[previous - 1]);
    if (opened_ns == 0 || closed_ns <= opened_ns) return;
    nanoseconds left{closed_ns - opened_ns};
    std::uint32_t launched = 0;
    std::uint32_t steps = 0;
    for (; launched < max_batch && pieces_.times()[cursor_] <= left; ++launched) {
      left -= pieces_.times()[cursor_];
      steps += launch_piece();
    }
    if (launched == 0) return;
    stamp_end(bubble, steps);
    collect_oldest();
  }
  /// Returns whether a step ends with it.
  std::uint32_t launch_piece() {
    cudaStream_t const stream = options_.stream != nullptr ? options_.stream : own_stream_.get();
    LULL_CUDA(cudaGraphLaunch(pieces_.at(cursor_), stream));
    cursor_ = cursor_ + 1 == pieces_.count() ? 0 : cursor_ + 1;
    return cursor_ == 0 ? 1 : 0;
  }
  void stamp_end(std::uint32_t bubble, std::uint32_t steps) {
    std::uint32_t const slot = next_slot_++ % slots;
    std::atomic_ref<std::uint64_t>{words_->ends_ns[slot]}.store(0, std::memory_order_relaxed);
    trainer::stamp(options_.stream != nullptr ? options_.stream : own_stream_.get(), &words_->ends_ns[slot]);
    pending_.push_back({.bubble = bubble, .slot = slot, .steps = steps});
  }
  void collect_oldest() {
    launched const oldest = pending_.front();
    auto const until = steady_clock::now() + max_wait;
    std::uint64_t end_ns = load(words_->ends_ns[oldest.slot]);
    for (; end_ns == 0; end_ns = load(words_->ends_ns[oldest.slot])) {
      if (steady_clock::now() > until) throw limit_error{"a launch of side work does not end"};
      pause();
    }
    bubbles_[oldest.bubble].end_ns = std::max(bubbles_[oldest.bubble].end_ns, end_ns);
    steps_.fetch_add(oldest.steps, std::memory_order_relaxed);
    pending_.pop_front();
  }
  void set_from_host(std::uint32_t value) {
    std::atomic_ref<std::uint32_t>{words_->word}.store(value, std::memory_order_release);
  }
  std::uint32_t next_bubble(std::uint32_t site) {
    std::uint32_t const bubble = enqueued_.load(std::memory_order_relaxed);
    if (bubble == max_bubbles) {
      throw limit_error{"more than " + std::to_string(max_bubbles) + " bubbles: measure for a shorter time"};
    }
    if (site >= max_sites) throw usage_error{"more than " + std::to_string(max_sites) + " sites"};
    bubbles_[bubble].site = site;
    bubbles_[bubble].previous = last_of_site_[site];
    last_of_site_[site] = bubble + 1;
    enqueued_.store(bubble + 1, std::memory_order_release);  // publishes the bubble's site to the thread
    return bubble;
  }

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
