// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/step/kernels.hpp>

#include <lull/device/cuda_world.cuh>
#include <lull/host/cuda/check.hpp>
#include <lull/host/measure/cuda/short_kernels.hpp>

namespace lull::bench {

namespace {

constexpr int stand_in_blocks = 112;
constexpr int stand_in_threads = 1024;
constexpr std::uint64_t stand_in_ns = 20'000;

__global__ void set_kernel(std::uint32_t* word, std::uint32_t value, std::uint64_t* at) {
  if (at != nullptr) *at = cuda_world::now_ns();
  cuda_world::store<order::release, scope::system>(*word, value);  // publishes the moment; the word may be the host's
}

__global__ void stand_in_of_worker(std::uint64_t* first, std::uint64_t* last) {
  std::uint64_t const now = cuda_world::now_ns();
  if (threadIdx.x == 0 && first != nullptr) {
    atomicMin(reinterpret_cast<unsigned long long*>(first), static_cast<unsigned long long>(now));
    atomicMax(reinterpret_cast<unsigned long long*>(last), static_cast<unsigned long long>(now));
  }
  while (cuda_world::now_ns() - now < stand_in_ns) __nanosleep(50);
}

}  // namespace

void set_word(cudaStream_t stream, std::uint32_t* word, std::uint32_t value, std::uint64_t* at) {
  set_kernel<<<1, 1, 0, stream>>>(word, value, at);
  LULL_CUDA(cudaGetLastError());
}

void stand_in(cudaStream_t stream, std::uint64_t* first, std::uint64_t* last) {
  stand_in_of_worker<<<stand_in_blocks, stand_in_threads, 0, stream>>>(first, last);
  LULL_CUDA(cudaGetLastError());
}

void const* stand_in_kernel() noexcept { return reinterpret_cast<void const*>(&stand_in_of_worker); }

void load_step_kernels() {
  trainer::load_short_kernels();
  std::uint32_t* word = nullptr;
  LULL_CUDA(cudaMalloc(reinterpret_cast<void**>(&word), 256));
  set_word(nullptr, word, 0, nullptr);
  stand_in(nullptr, nullptr, nullptr);
  LULL_CUDA(cudaDeviceSynchronize());
  LULL_CUDA(cudaFree(word));
}

}  // namespace lull::bench
