// SPDX-License-Identifier: Apache-2.0
// Device memory whose addresses stay while it is away, and a job that loses it in the middle of its work.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/array.hpp>
#include <lull/host/cuda/device_range.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tests/host/cuda/device_probe.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t mib = std::size_t{1} << 20;

std::size_t free_bytes() {
  std::size_t free = 0;
  std::size_t all = 0;
  LULL_CUDA(cudaMemGetInfo(&free, &all));
  return free;
}

class memory_on_cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
    trainer::load();
    stream_ = cuda_stream{0};
  }
  static std::unique_ptr<runtime> make(std::uint64_t reserve_bytes, std::uint64_t saved_bytes) {
    return std::make_unique<runtime>(
        runtime_options{.executor = {.kind = executor_kind::cuda, .reserve_bytes = reserve_bytes},
                        .saved_bytes = saved_bytes,
                        .tasks = {type_of<probe_task>()},
                        .log = [](std::string_view line) { ADD_FAILURE() << line; }});
  }

  cuda_stream stream_;
};

TEST_F(memory_on_cuda, goes_and_comes_behind_the_same_addresses_while_a_kernel_runs) {
  auto const side = make(0, 0);
  executor& executor = executor_of(*side);
  device_guard const here{executor};
  constexpr std::size_t bytes = 1024 * mib;
  device_array<std::uint32_t> const array{executor, bytes / 4};
  std::vector<std::uint32_t> const sevens(1024, 7);
  executor.write(array.data(), sevens.data(), 4096);
  std::size_t const before = free_bytes();
  trainer::wait_one_thread(stream_.get(), 1'000'000'000, nullptr);
  auto const began = std::chrono::steady_clock::now();
  bytes_taken const taken = executor.taken_bytes();
  EXPECT_GE(taken.now, bytes);
  executor.withdraw(array.data());
  constexpr std::size_t strays = 2 * mib;  // a range into which all stray addresses lead
  EXPECT_EQ(executor.taken_bytes().now, taken.now - bytes + strays);
  EXPECT_EQ(executor.taken_bytes().most, taken.most + strays);
  EXPECT_GE(free_bytes() + 128 * mib, before + bytes);
  executor.withdraw(array.data());
  EXPECT_GE(executor.device_free_bytes() + 128 * mib, before + bytes);
  executor.fill_zero(array.data(), bytes);  // it strays, and does no harm
  executor.restore(array.data());
  EXPECT_LE(free_bytes(), before);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 500ms);
  EXPECT_EQ(cudaStreamQuery(stream_.get()), cudaErrorNotReady) << "the trainer was not waited for";
  executor.write(array.data() + bytes / 4 - 1024, sevens.data(), 4096);
  std::vector<std::uint32_t> found(1024);
  executor.read(found.data(), array.data() + bytes / 4 - 1024, 4096);
  EXPECT_EQ(found, sevens);
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
}

/// The device is short of whole ranges, however few of their bytes were asked for.
TEST_F(memory_on_cuda, counts_whole_ranges_and_what_stray_addresses_lead_into) {
  runtime side{{.executor = {.kind = executor_kind::cuda, .memory_limit_bytes = 64 * mib}}};
  executor& executor = executor_of(side);
  device_guard const here{executor};
  std::uint64_t const before = executor.taken_bytes().now;
  std::vector<device_array<char>> arrays;
  arrays.emplace_back(executor, mib + 1);
  EXPECT_EQ(executor.taken_bytes().now - before, device_range::granularity);
  executor.withdraw(arrays.back().data());
  EXPECT_EQ(executor.taken_bytes().now - before, stray_memory::small_bytes) << "its addresses lead into that";
  executor.restore(arrays.back().data());
  EXPECT_EQ(executor.taken_bytes().now - before, device_range::granularity + stray_memory::small_bytes);
  EXPECT_THROW(while (arrays.size() < 33) arrays.emplace_back(executor, mib + 1), limit_error);
  EXPECT_GE(arrays.size(), 28U);
  EXPECT_LE(executor.taken_bytes().now, 64 * mib);
  EXPECT_LT(executor.free_bytes().bytes, device_range::granularity);
  arrays.clear();
  EXPECT_EQ(executor.taken_bytes().now, before + stray_memory::small_bytes);
}

TEST_F(memory_on_cuda, while_a_stream_is_captured) {
  auto const side = make(0, 0);
  executor& executor = executor_of(*side);
  device_array<char> const array{executor, 64 * mib};
  LULL_CUDA(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeGlobal));
  executor.withdraw(array.data());
  executor.restore(array.data());
  cudaGraph_t graph = nullptr;
  LULL_CUDA(cudaStreamEndCapture(stream_.get(), &graph));
  LULL_CUDA(cudaGraphDestroy(graph));
}

TEST_F(memory_on_cuda, of_the_reserve_is_no_jobs) {
  std::size_t const free = free_bytes();
  auto const side = make(free - 1024 * mib, 0);
  EXPECT_THROW((device_array<char>{side->memory(), 2048 * mib}), limit_error);
  EXPECT_NO_THROW((device_array<char>{side->memory(), 256 * mib}));
  EXPECT_LT(executor_of(*side).free_bytes().bytes, 1024 * mib);
}

TEST_F(memory_on_cuda, is_taken_from_a_job_again_and_again_and_all_its_items_are_done_once) {
  auto const side = make(0, 256 * mib);
  auto const memory = std::make_shared<job_memory>();
  std::unique_ptr<device_probe> probe;
  {
    job_memory::scope const its{memory};
    probe = std::make_unique<device_probe>(executor_of(*side), std::vector<std::uint64_t>{1U << 21, 40'000, 1U << 21});
  }
  ASSERT_GT(memory->bytes(), 16 * mib);
  probe_task with_polls = probe->task();
  with_polls.polls = 8;
  job_description what = describe(with_polls);
  what.memory = memory;
  job const task = side->submit(what);
  int times = 0;
  std::size_t const before = free_bytes();
  std::size_t max_free = 0;
  std::thread takes{[&] {
    device_guard const here{executor_of(*side)};
    while (!task.wait(10ms) && times < 3) {  // each time it stays away for twice as long
      if (side->memory().give_back(1, 10s) != memory->bytes()) continue;
      ++times;
      max_free = std::max(max_free, free_bytes());
    }
  }};
  for (int i = 0; i < 400'000 && !task.wait(0ns); ++i) {
    {
      bubble const idle{*side, stream_.get(), site{"wait"}};
      trainer::wait_one_thread(stream_.get(), 50'000, nullptr);
    }
    trainer::burst(stream_.get(), 132, 512, 100, nullptr);
    if (i % 16 == 0) LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  }
  LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  takes.join();
  EXPECT_EQ(task.progress().state, job_state::finished);
  EXPECT_STREQ(probe->wrong(), nullptr);
  EXPECT_EQ(times, 3);
  EXPECT_GE(max_free + 8 * mib, before + memory->bytes());
}

}  // namespace
}  // namespace lull
