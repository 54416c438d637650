// SPDX-License-Identifier: Apache-2.0
// Wrong calls of hosts, on a real device: nothing hangs, nothing is lost.
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <cublas_v2.h>
#include <gtest/gtest.h>

#include <lull/host/cuda/owned.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tests/host/cuda/device_probe.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class misbehaving_on_cuda : public testing::TestWithParam<launch_time> {
 protected:
  void SetUp() override {
    if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
    trainer::load();
    stream_ = cuda_stream{0};
    side_ = make(0);
  }
  std::unique_ptr<runtime> make(int device) const {
    return std::make_unique<runtime>(runtime_options{.executor = {.kind = executor_kind::cuda, .device = device},
                                                     .tasks = {type_of<probe_task>()},
                                                     .tuning = {.launch = GetParam(), .training_worth = 0}});
  }
  /// Does `inside` in twenty bubbles while a job works; the job's result is right.
  void harmless(std::function<void()> const& inside) {
    device_probe probe{executor_of(*side_), {40'000, 1, 40'000}};
    job const task = side_->submit(probe.task());
    await_that([&] { return side_->ready(stream_.get()); });
    for (int i = 0; i < 20; ++i) {
      bubble const idle{*side_, stream_.get(), site{"harmless"}};
      trainer::wait_one_thread(stream_.get(), 300'000, nullptr);
      inside();
    }
    finish(*side_, stream_.get(), task);
    EXPECT_STREQ(probe.wrong(), nullptr);
  }
  static void finish(runtime& side, cudaStream_t stream, job const& task) {
    for (int i = 0; i < 100'000 && !task.wait(0ns); ++i) {
      {
        bubble const idle{side, stream, site{"later"}};
        trainer::wait_one_thread(stream, 100'000, nullptr);
      }
      if (i % 16 == 0) LULL_CUDA(cudaStreamSynchronize(stream));
    }
    LULL_CUDA(cudaStreamSynchronize(stream));
    ASSERT_TRUE(task.wait(long_enough));
    EXPECT_EQ(side.mode(), runtime_mode::on);
  }

  cuda_stream stream_;
  std::unique_ptr<runtime> side_;
};

TEST_P(misbehaving_on_cuda, a_device_wide_synchronise_inside_a_bubble) {
  harmless([] { LULL_CUDA(cudaDeviceSynchronize()); });
}

TEST_P(misbehaving_on_cuda, a_device_wide_synchronise_behind_each_bubble_leaves_the_harvest) {
  device_probe probe{executor_of(*side_), {1u << 22}};
  job task = side_->submit(probe.task());
  await_that([&] { return side_->ready(stream_.get()); });
  for (int i = 0; i < 100; ++i) {
    {
      bubble const idle{*side_, stream_.get(), site{"exchange"}};
      trainer::wait_one_thread(stream_.get(), 300'000, nullptr);
    }
    LULL_CUDA(cudaDeviceSynchronize());  // as Megatron does after each exchange
  }
  EXPECT_GT(probe.ran(), 100U * 116U);  // a chunk a bubble and block at the least
  task.cancel();
  ASSERT_TRUE(task.wait(long_enough));
}

TEST_P(misbehaving_on_cuda, allocations_and_frees_inside_a_bubble) {
  harmless([] {
    void* memory = nullptr;
    LULL_CUDA(cudaMalloc(&memory, 1 << 20));
    LULL_CUDA(cudaFree(memory));
    LULL_CUDA(cudaMallocHost(&memory, 1 << 16));
    LULL_CUDA(cudaFreeHost(memory));
  });
}

TEST_P(misbehaving_on_cuda, a_first_cublas_call_inside_a_bubble) {
  float* values = nullptr;
  LULL_CUDA(cudaMalloc(reinterpret_cast<void**>(&values), 3 * 256 * 256 * sizeof(float)));
  LULL_CUDA(cudaMemset(values, 0, 3 * 256 * 256 * sizeof(float)));
  std::vector<cublasHandle_t> handles;
  harmless([&] {
    if (handles.size() == 3) return;
    cublasHandle_t handle{};
    ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(cublasSetStream(handle, stream_.get()), CUBLAS_STATUS_SUCCESS);
    float const one = 1;
    ASSERT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 256, 256, 256, &one, values, 256, values + 65536, 256, &one,
                          values + 2 * 65536, 256),
              CUBLAS_STATUS_SUCCESS);
    handles.push_back(handle);
  });
  for (cublasHandle_t handle : handles) cublasDestroy(handle);
  cudaFree(values);
}

TEST_P(misbehaving_on_cuda, bubbles_of_no_length_and_a_host_slower_than_the_device) {
  device_probe probe{executor_of(*side_), {40'000, 1, 40'000}};
  job const task = side_->submit(probe.task());
  await_that([&] { return side_->ready(stream_.get()); });
  for (int i = 0; i < 500; ++i) {
    bubble const none{*side_, stream_.get(), site{"no length"}};
  }
  for (int i = 0; i < 20; ++i) {
    bubble const idle{*side_, stream_.get(), site{"slow host"}};
    trainer::wait_one_thread(stream_.get(), 10'000, nullptr);
    std::this_thread::sleep_for(2ms);
  }
  finish(*side_, stream_.get(), task);
  EXPECT_STREQ(probe.wrong(), nullptr);
}

TEST_P(misbehaving_on_cuda, an_open_without_close_is_ended_by_the_lease_or_the_next_opening) {
  device_probe probe{executor_of(*side_), {40'000, 1, 40'000}};
  job const task = side_->submit(probe.task());
  await_that([&] { return side_->ready(stream_.get()); });
  side_->open(stream_.get(), site{"later"});
  LULL_CUDA(cudaDeviceSynchronize());
  finish(*side_, stream_.get(), task);
  EXPECT_EQ(side_->counts()[counted::abandoned], 1U);
  EXPECT_STREQ(probe.wrong(), nullptr);
}

TEST_P(misbehaving_on_cuda, a_trainers_stream_may_go_first) {
  device_probe probe{executor_of(*side_), {40'000, 1, 40'000}};
  job const task = side_->submit(probe.task());
  {
    cuda_stream const short_lived{0};
    await_that([&] { return side_->ready(short_lived.get()); });
    for (int i = 0; i < 10; ++i) {
      bubble const idle{*side_, short_lived.get(), site{"short-lived"}};
      trainer::wait_one_thread(short_lived.get(), 100'000, nullptr);
    }
  }
  finish(*side_, stream_.get(), task);
  EXPECT_STREQ(probe.wrong(), nullptr);
}

TEST_P(misbehaving_on_cuda, the_legacy_and_the_per_thread_stream_are_trainers_streams) {
  for (cudaStream_t const stream : {cudaStream_t{nullptr}, cudaStreamLegacy, cudaStreamPerThread}) {
    device_probe probe{executor_of(*side_), {4'000, 1, 4'000}};
    job const task = side_->submit(probe.task());
    finish(*side_, stream, task);
    EXPECT_STREQ(probe.wrong(), nullptr);
  }
}

TEST_P(misbehaving_on_cuda, two_devices_in_one_process) {
  if (std::string const why = why_no_cuda(1); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
  auto const other = make(1);
  LULL_CUDA(cudaSetDevice(1));
  cuda_stream const there{0};
  device_probe probe{executor_of(*other), {4'000, 1, 4'000}};
  job const task = other->submit(probe.task());
  finish(*other, there.get(), task);
  EXPECT_STREQ(probe.wrong(), nullptr);
  // Each runtime ignores the other's streams, whatever device is current.
  side_->close(side_->open(there.get(), site{"foreign"}), there.get());
  side_->close(side_->open(nullptr, site{"default of another"}), nullptr);
  EXPECT_EQ(side_->counts()[counted::foreign_stream], 2U);
  EXPECT_EQ(side_->counts()[counted::opened], 0U);
  LULL_CUDA(cudaSetDevice(0));
  other->close(other->open(stream_.get(), site{"foreign"}), stream_.get());
  EXPECT_EQ(other->counts()[counted::foreign_stream], 1U);
  int now = -1;
  LULL_CUDA(cudaGetDevice(&now));
  EXPECT_EQ(now, 0);
}

INSTANTIATE_TEST_SUITE_P(launched, misbehaving_on_cuda, testing::Values(launch_time::at_close, launch_time::at_open),
                         [](auto const& info) { return info.param == launch_time::at_close ? "at_close" : "at_open"; });

/// Keeps a runtime until the process ends, with a job that never ends, and a graph.
void exit_in_the_middle() {
  trainer::load();
  static cuda_stream const stream{0};
  static runtime side{{.executor = {.kind = executor_kind::cuda}, .tasks = {type_of<probe_task>()}}};
  static device_probe probe{executor_of(side), {1u << 22}};
  static job const task = side.submit(probe.task());
  await_that([&] { return side.ready(stream.get()); });
  for (int i = 0; i < 20; ++i) {
    bubble const idle{side, stream.get(), site{"last"}};
    trainer::wait_one_thread(stream.get(), 100'000, nullptr);
  }
  side.open(stream.get(), site{"open at the end"});
  std::exit(0);
}

TEST(misbehaving_process_on_cuda, may_exit_with_a_task_that_never_ends) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // It makes no context, and the child becomes a new process before it calls CUDA.
  if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
  EXPECT_EXIT(exit_in_the_middle(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lull
