// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/side_runner/side_runner.hpp>

#include <algorithm>
#include <string>

#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/measure/cuda/stream_words.hpp>

namespace lull::bench {

namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::uint32_t slots = 8;  // of ends; launches that have not ended are fewer

/// A place of the host that the device writes. Acquire: what the device wrote before is seen, too.
template <class Word>
Word load(Word& word) {
  return std::atomic_ref<Word>{word}.load(std::memory_order_acquire);
}

void pause() noexcept {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

}  // namespace

/// The word is odd while a bubble is open: 2 · bubble + 1, and 2 · bubble + 2 after its close.
struct side_runner::mapped_words {
  alignas(64) std::uint32_t word;
  alignas(64) std::uint64_t ends_ns[slots];
  alignas(64) std::uint64_t opened_ns[max_bubbles];
  std::uint64_t closed_ns[max_bubbles];
};

void side_runner::unpin::operator()(mapped_words* words) const noexcept { cudaFreeHost(words); }

side_runner::side_runner(graph_pieces const& pieces, side_runner_options const& options)
    : pieces_(pieces), options_(options), bubbles_(max_bubbles), last_of_site_(max_sites) {
  if (options.max_queued == 0 || options.max_queued >= slots) throw usage_error{"max_queued must be 1 to 7"};
  LULL_CUDA(cudaGetDevice(&device_));
  void* memory = nullptr;
  LULL_CUDA(cudaHostAlloc(&memory, sizeof(mapped_words), cudaHostAllocMapped | cudaHostAllocPortable));
  words_.reset(new (memory) mapped_words{});
  if (options.stream == nullptr) own_stream_ = cuda_stream{priorities().lowest};
  thread_ = std::thread{[this] { run(); }};
}

side_runner::~side_runner() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void side_runner::open(cudaStream_t trainer, std::uint32_t site) {
  std::uint32_t const bubble = next_bubble(site);
  write_word(trainer, &words_->word, 2 * bubble + 1);
  trainer::stamp(trainer, &words_->opened_ns[bubble]);
}

void side_runner::close(cudaStream_t trainer) {
  std::uint32_t const opened = enqueued_.load(std::memory_order_relaxed);
  if (opened == 0) throw usage_error{"close comes before open: no bubble was opened"};
  std::uint32_t const bubble = opened - 1;
  write_word(trainer, &words_->word, 2 * bubble + 2);
  trainer::stamp(trainer, &words_->closed_ns[bubble]);
}

void side_runner::resume() { set_from_host(2 * next_bubble(0) + 1); }

void side_runner::suspend() {
  std::uint32_t const value = 2 * enqueued_.load(std::memory_order_relaxed);
  set_from_host(value);
  auto const until = steady_clock::now() + max_wait;
  while (seen_.load(std::memory_order_acquire) != value && !failed_.load(std::memory_order_acquire)) {
    if (steady_clock::now() > until) throw limit_error{"the side work's thread does not stop launching"};
    std::this_thread::yield();
  }
}

void side_runner::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  if (failure_) std::rethrow_exception(failure_);
}

std::vector<nanoseconds> side_runner::drains() const {
  std::vector<nanoseconds> found;
  for (std::uint32_t at = 0; at < enqueued_.load(std::memory_order_relaxed); ++at) {
    std::uint64_t const closed_ns = words_->closed_ns[at];
    std::uint64_t const end_ns = bubbles_[at].end_ns;
    if (closed_ns != 0 && end_ns != 0) found.emplace_back(end_ns > closed_ns ? end_ns - closed_ns : 0);
  }
  return found;
}

std::uint32_t side_runner::next_bubble(std::uint32_t site) {
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

void side_runner::set_from_host(std::uint32_t value) {
  std::atomic_ref<std::uint32_t>{words_->word}.store(value, std::memory_order_release);
}

void side_runner::run() noexcept try {
  LULL_CUDA(cudaSetDevice(device_));
  while (!stopping_.load(std::memory_order_relaxed)) serve(load(words_->word));
  while (!pending_.empty()) collect_oldest();
} catch (...) {
  failure_ = std::current_exception();
  failed_.store(true, std::memory_order_release);  // publishes failure_
}

void side_runner::serve(std::uint32_t seen) {
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

void side_runner::launch_next(std::uint32_t bubble) {
  stamp_end(bubble, launch_piece());
  while (pending_.size() >= options_.max_queued) collect_oldest();
}

void side_runner::launch_plan(std::uint32_t bubble) {
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
std::uint32_t side_runner::launch_piece() {
  cudaStream_t const stream = options_.stream != nullptr ? options_.stream : own_stream_.get();
  LULL_CUDA(cudaGraphLaunch(pieces_.at(cursor_), stream));
  cursor_ = cursor_ + 1 == pieces_.count() ? 0 : cursor_ + 1;
  return cursor_ == 0 ? 1 : 0;
}

void side_runner::stamp_end(std::uint32_t bubble, std::uint32_t steps) {
  std::uint32_t const slot = next_slot_++ % slots;
  std::atomic_ref<std::uint64_t>{words_->ends_ns[slot]}.store(0, std::memory_order_relaxed);
  trainer::stamp(options_.stream != nullptr ? options_.stream : own_stream_.get(), &words_->ends_ns[slot]);
  pending_.push_back({.bubble = bubble, .slot = slot, .steps = steps});
}

void side_runner::collect_oldest() {
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

}  // namespace lull::bench
