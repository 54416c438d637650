// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/step/kernels.hpp>

#include <lull/device/cuda_world.cuh>
#include <lull/host/cuda/check.hpp>

namespace lull::bench {

namespace {

constexpr int stand_in_blocks = 112;
constexpr int stand_in_threads = 1024;
constexpr std::uint64_t stand_in_ns = 20'000;

__global__ void stir_kernel(float* values, std::uint64_t count, int rounds, std::uint64_t* at) {
  if (at != nullptr && blockIdx.x == 0 && threadIdx.x == 0) *at = cuda_world::now_ns();
  for (std::uint64_t i = blockIdx.x * std::uint64_t{stir_threads} + threadIdx.x; i < count;
       i += std::uint64_t{stir_blocks} * stir_threads) {
    float x = values[i];
    for (int round = 0; round < rounds; ++round) x = fmaf(-1.99f * x, x, 1.0f);  // stays in [−0.99, 1]
    values[i] = x;
  }
}

__global__ void nothing_kernel() {}

__global__ void wait_kernel(std::uint32_t* word, std::uint32_t value, std::uint64_t limit_ns, std::uint32_t* expired) {
  std::uint64_t const until = cuda_world::now_ns() + limit_ns;
  // Pairs with the release in set_kernel.
  while (cuda_world::load<order::acquire, scope::device>(*word) < value) {
    if (cuda_world::now_ns() >= until) {
      ++*expired;  // one stream alone adds
      return;
    }
    __nanosleep(50);
  }
}

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

void stir(cudaStream_t stream, float* values, std::uint64_t count, int rounds, std::uint64_t* at) {
  stir_kernel<<<stir_blocks, stir_threads, 0, stream>>>(values, count, rounds, at);
  LULL_CUDA(cudaGetLastError());
}

void nothing(cudaStream_t stream) {
  nothing_kernel<<<1, 1, 0, stream>>>();
  LULL_CUDA(cudaGetLastError());
}

void wait_for_word(cudaStream_t stream, std::uint32_t* word, std::uint32_t value, std::uint64_t limit_ns,
                   std::uint32_t* expired) {
  wait_kernel<<<1, 1, 0, stream>>>(word, value, limit_ns, expired);
  LULL_CUDA(cudaGetLastError());
}

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
  float* values = nullptr;
  LULL_CUDA(cudaMalloc(reinterpret_cast<void**>(&values), 256));
  LULL_CUDA(cudaMemset(values, 0, 256));
  auto* const words = reinterpret_cast<std::uint32_t*>(values);
  stir(nullptr, values, 0, 0, nullptr);
  nothing(nullptr);
  wait_for_word(nullptr, words, 0, 0, words + 1);
  set_word(nullptr, words, 0, nullptr);
  stand_in(nullptr, nullptr, nullptr);
  LULL_CUDA(cudaDeviceSynchronize());
  LULL_CUDA(cudaFree(values));
}

}  // namespace lull::bench
