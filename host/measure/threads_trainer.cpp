// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <thread>

#include <lull/device/threads_world.hpp>
#include <lull/host/measure/trainer.hpp>
#include <lull/host/threads/block_pool.hpp>
#include <lull/host/threads/stream.hpp>

namespace lull {
namespace {

constexpr int unit_fma = 2000;  // dependent multiply-adds, a few µs

/// Arithmetic whose result nobody needs and no compiler drops.
void arithmetic(std::uint64_t units) {
  float x = 1;
  for (std::uint64_t u = 0; u < units; ++u) {
    for (int i = 0; i < unit_fma; ++i) x = x * 1.0001f + 0.5f;
    if (x > 1e30f) x = 1;
  }
  static std::atomic<float> sink;
  sink.store(x, std::memory_order_relaxed);
}

class threads_trainer final : public stage_trainer {
 public:
  explicit threads_trainer(std::chrono::nanoseconds forward)
      : forward_(forward),
        cores_(static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))),
        pool_(cores_, 1) {
    calibrate(forward);
  }

  stream_handle stream() override { return &stream_; }
  std::string describe() const override {
    return std::to_string(units_ * unit_fma) + " multiply-adds in each of " + std::to_string(cores_) + " threads";
  }

  void begin_replay(std::size_t iterations, std::size_t waits) override {
    moments_ = {};
    moments_.iterations.reserve(iterations);  // the stream's thread adds to them; nothing may move meanwhile
    moments_.waits.reserve(waits);
  }
  void begin_iteration() override {
    stream_.enqueue([this] { moments_.iterations.push_back({threads_world::now_ns(), 0}); });
  }
  void end_iteration() override {
    stream_.enqueue([this] { moments_.iterations.back().end_ns = threads_world::now_ns(); });
  }
  void work(segment const& what) override {
    double const forwards = std::chrono::duration<double>{what.duration} / forward_;
    auto const units = static_cast<std::uint64_t>(static_cast<double>(units_) * forwards + 0.5);
    stream_.enqueue([this, units] { compute(units); });
  }
  void wait(std::chrono::nanoseconds length, wait_arrival) override {
    stream_.enqueue([this, length] {
      auto const until = std::chrono::steady_clock::now() + length;
      std::uint64_t const begin_ns = threads_world::now_ns();
      std::this_thread::sleep_until(until);
      moments_.waits.push_back({begin_ns, threads_world::now_ns(), std::nullopt});
    });
  }
  std::size_t mark() override {
    stream_.enqueue([this] {
      reached_.fetch_add(1, std::memory_order_release);
      reached_.notify_all();
    });
    return ++marks_;
  }
  void wait_for_mark(std::size_t number) override {
    for (std::size_t now = reached_.load(std::memory_order_acquire); now < number;
         now = reached_.load(std::memory_order_acquire)) {
      reached_.wait(now, std::memory_order_acquire);
    }
  }
  bool has_passed(std::size_t number) override { return reached_.load(std::memory_order_acquire) >= number; }
  replay_moments end_replay() override {
    stream_.synchronize();
    return moments_;
  }

 private:
  void compute(std::uint64_t units) {
    pool_.run(0, [units](thread_block const&, int) { arithmetic(units); });
  }

  /// As many units as fill a forward; the least of some times, for others share the cores.
  void calibrate(std::chrono::nanoseconds forward) {
    units_ = 1;
    for (int turn = 0; turn < 6; ++turn) {
      auto least = std::chrono::nanoseconds::max();
      for (int i = 0; i < 5; ++i) {
        auto const begin = std::chrono::steady_clock::now();
        compute(units_);
        least = std::min<std::chrono::nanoseconds>(least, std::chrono::steady_clock::now() - begin);
      }
      double const scale =
          static_cast<double>(forward.count()) / static_cast<double>(std::max<std::int64_t>(1, least.count()));
      units_ = std::max<std::uint64_t>(
          1, static_cast<std::uint64_t>(static_cast<double>(units_) * std::min(scale, 20.0) + 0.5));
      if (scale > 0.95 && scale < 1.05) break;
    }
  }

  std::chrono::nanoseconds const forward_;
  int const cores_;
  block_pool pool_;
  std::uint64_t units_ = 1;  // of a forward
  replay_moments moments_;
  std::atomic<std::size_t> reached_ = 0;
  std::size_t marks_ = 0;
  threads_stream stream_;  // last: its operations use all of the above
};

}  // namespace

std::unique_ptr<stage_trainer> make_threads_trainer(std::chrono::nanoseconds forward) {
  return std::make_unique<threads_trainer>(forward);
}

}  // namespace lull
