// SPDX-License-Identifier: Apache-2.0
// Bubbles on a real device in which the trainer's host stays: it sleeps, or waits for the whole device.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include <lull/host/array.hpp>
#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tasks/synthetic.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class host_stalls_on_cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
    stream_ = cuda_stream{0};
    side_ = std::make_unique<runtime>(runtime_options{.executor = {.kind = executor_kind::cuda},
                                                      .tasks = {type_of<compute_task>()},
                                                      .log = [](std::string_view line) { ADD_FAILURE() << line; }});
    sink_.emplace(side_->memory(), 1);
    job_ = side_->submit(compute_task{sink_->data(), 1U << 30, 1U << 30, 2'000}, "endless");
    ASSERT_TRUE(within_time([&] {
      stall([] {});
      return side_->ready(stream_.get());
    }));
  }
  void TearDown() override {
    if (!side_) return;
    job_.cancel();
    EXPECT_TRUE(job_.wait(10s));
  }
  /// Returns the report of a bubble in which the host does something.
  bubble_report stall(std::function<void()> const& inside) {
    bool opened = false;
    {
      bubble const idle{*side_, stream_.get(), site{"stall"}};
      opened = idle.what() == counted::opened;
      inside();
    }
    LULL_CUDA(cudaStreamSynchronize(stream_.get()));
    bubble_report last;
    EXPECT_TRUE(within_time([&] {
      for (bubble_report& told : side_->take_bubbles()) last = std::move(told);
      return !opened || last.opened_ns != 0;
    }));
    return last;
  }
  std::uint64_t launches_in(std::function<void()> const& inside) {
    std::uint64_t const before = side_->counts()[counted::launches];
    stall(inside);
    return side_->counts()[counted::launches] - before;
  }

  cuda_stream stream_;
  std::unique_ptr<runtime> side_;
  std::optional<device_array<float>> sink_;
  job job_;
};

TEST_F(host_stalls_on_cuda, are_filled_by_one_worker_after_another) {
  for (int i = 0; i < 24; ++i) stall([] { std::this_thread::sleep_for(50ms); });
  bubble_report const told = stall([] { std::this_thread::sleep_for(200ms); });
  double const stayed = per_launched_block(told, &bubble_record::stay_ns);
  EXPECT_GE(told.length, 200ms);
  EXPECT_LE(told.length, 230ms);
  EXPECT_GE(stayed, 0.8 * static_cast<double>(told.length.count()));
  EXPECT_LE(stayed, 1.02 * static_cast<double>(told.length.count()));
}

TEST_F(host_stalls_on_cuda, of_a_host_that_waits_for_the_device_end_and_get_no_workers_after_some) {
  for (int i = 0; i < 40; ++i) {
    auto const begin = std::chrono::steady_clock::now();
    stall([] { LULL_CUDA(cudaDeviceSynchronize()); });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s);
  }
  std::uint64_t launches = 0;
  for (int i = 0; i < 20; ++i) launches += launches_in([] { LULL_CUDA(cudaDeviceSynchronize()); });
  EXPECT_LE(launches, 22U) << "but for one that comes after the close";
}

TEST_F(host_stalls_on_cuda, of_a_host_that_frees_memory_after_a_while_end) {
  for (int i = 0; i < 24; ++i) {
    auto const begin = std::chrono::steady_clock::now();
    stall([] {
      std::this_thread::sleep_for(20ms);
      void* memory = nullptr;
      LULL_CUDA(cudaMalloc(&memory, 1 << 20));
      LULL_CUDA(cudaFree(memory));
    });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s);
  }
}

}  // namespace
}  // namespace lull
