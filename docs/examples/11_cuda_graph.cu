// SPDX-License-Identifier: Apache-2.0
// A CUDA graph that was captured from a stream, run in the bubbles of another one. Needs a GPU.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <lull/device/cuda_world.cuh>
#include <lull/host/cuda_graph/graph_task.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/runtime.hpp>

namespace {
using namespace std::chrono_literals;
constexpr unsigned count = 1U << 20;

void check(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error{cudaGetErrorString(code)};
}
__global__ void add(std::uint32_t* values, std::uint32_t more) {
  values[blockIdx.x * blockDim.x + threadIdx.x] += more;
}
__global__ void wait_for(std::uint64_t ns) {
  for (std::uint64_t const end = lull::cuda_world::now_ns() + ns; lull::cuda_world::now_ns() < end;) __nanosleep(200);
}

/// Twenty kernels and a copy.
cudaGraph_t captured(std::uint32_t* values, std::uint32_t* copy) {
  cudaStream_t stream{};
  cudaGraph_t graph{};
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (std::uint32_t more = 1; more <= 20; ++more) add<<<count / 256, 256, 0, stream>>>(values, more);
  check(cudaMemcpyAsync(copy, values, count * sizeof *values, cudaMemcpyDeviceToDevice, stream));
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaStreamDestroy(stream));
  return graph;
}

int run() {
  std::uint32_t* values = nullptr;
  std::uint32_t* copy = nullptr;
  cudaStream_t trainer{};
  check(cudaMalloc(&values, count * sizeof *values));
  check(cudaMalloc(&copy, count * sizeof *copy));
  check(cudaMemset(values, 0, count * sizeof *values));
  check(cudaStreamCreateWithFlags(&trainer, cudaStreamNonBlocking));
  check(cudaDeviceSynchronize());  // the first step runs at once, and waits for nothing
  cudaGraph_t const graph = captured(values, copy);
  lull::runtime side{{.executor = {.kind = lull::executor_kind::cuda}}};
  // [graph]
  lull::job const work = lull::submit(side, {.graph = graph, .steps = 1'000});
  // [/graph]
  check(cudaGraphDestroy(graph));
  for (int step = 0; step < 100'000 && !work.wait(0ns); ++step) {
    {
      lull::bubble const idle{side, trainer, lull::site{"recv_forward"}};
      wait_for<<<1, 1, 0, trainer>>>(300'000);  // the trainer's own wait
    }
    if (step % 16 == 0) check(cudaStreamSynchronize(trainer));
  }
  check(cudaStreamSynchronize(trainer));
  std::vector<std::uint32_t> found(count);
  check(cudaMemcpy(found.data(), copy, count * sizeof found[0], cudaMemcpyDeviceToHost));
  std::printf("%s: %llu steps, each value %u\n", lull::name_of(work.progress().state),
              static_cast<unsigned long long>(work.rounds()), found[0]);
  bool right = work.rounds() == 1'000;
  for (std::uint32_t const each : found) right = right && each == 1'000U * 210U;
  return right ? 0 : 1;
}
}  // namespace

int main() {
  if (std::string const why = lull::why_no_cuda(0); !why.empty()) {
    std::printf("NOT RUN: %s\n", why.c_str());
    return 77;
  }
  return run();
}
