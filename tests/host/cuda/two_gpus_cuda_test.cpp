// SPDX-License-Identifier: Apache-2.0
// A runtime of one GPU touches no other: a rank that sees all GPUs makes no context on those of its neighbours.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cuda.h>
#include <gtest/gtest.h>

#include <lull/host/cuda/owned.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tests/host/cuda/device_probe.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

template <typename Work>
void on_a_new_thread(Work&& work) {
  std::thread{std::forward<Work>(work)}.join();
}

bool has_context(int device) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
  LULL_CUDA(cudaGetDriverEntryPointByVersion("cuDevicePrimaryCtxGetState", &found, 7000, cudaEnableDefault, &status));
  unsigned flags = 0;
  int active = -1;
  auto const state_of = reinterpret_cast<CUresult (*)(CUdevice, unsigned*, int*)>(found);
  if (state_of == nullptr || state_of(device, &flags, &active) != CUDA_SUCCESS) std::exit(3);
  return active != 0;
}

/// Works on GPU 1 only, from threads that chose it and from threads whose current device is GPU 0 by default. Exit code
/// 0: GPU 1 has a context and GPU 0 has none.
void work_on_gpu_1() {
  std::unique_ptr<runtime> side;
  on_a_new_thread([&] {
    side = std::make_unique<runtime>(
        runtime_options{.executor = {.kind = executor_kind::cuda, .device = 1}, .tasks = {type_of<probe_task>()}});
  });
  cuda_stream stream;
  std::unique_ptr<device_probe> probe;
  job task;
  on_a_new_thread([&] {
    LULL_CUDA(cudaSetDevice(1));
    trainer::load();
    stream = cuda_stream{0};
    probe = std::make_unique<device_probe>(executor_of(*side), std::vector<std::uint64_t>{4'000, 1, 4'000});
    task = side->submit(probe->task());
    await_that([&] { return side->ready(stream.get()); });
    for (int i = 0; i < 1'000 && !task.wait(0ns); ++i) {
      bubble const idle{*side, stream.get(), site{"training"}};
      trainer::wait_one_thread(stream.get(), 100'000, nullptr);
    }
    LULL_CUDA(cudaStreamSynchronize(stream.get()));
  });
  on_a_new_thread([&] {
    side->close(side->open(stream.get(), site{"from elsewhere"}), stream.get());
    side->take_bubbles();
    device_probe more{executor_of(*side), std::vector<std::uint64_t>(2'000, 100)};  // too large for the arena
    job cancelled = side->submit(more.task());
    cancelled.pause();
    cancelled.cancel();
    if (!cancelled.wait(20s)) std::exit(6);
  });
  on_a_new_thread([&] {
    LULL_CUDA(cudaSetDevice(1));
    if (!task.wait(20s) || probe->wrong() != nullptr) std::exit(4);
    probe.reset();
    stream = {};
  });
  on_a_new_thread([&] {
    task = {};
    side.reset();
  });
  bool right = false;
  on_a_new_thread([&] {
    LULL_CUDA(cudaSetDevice(1));  // the questions make no context either
    right = has_context(1) && !has_context(0);
  });
  std::exit(right ? 0 : 5);
}

TEST(a_runtime_on_cuda, makes_no_context_on_another_gpu) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  if (std::string const why = why_no_cuda(1); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
  EXPECT_EXIT(work_on_gpu_1(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lull
