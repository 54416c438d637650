// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/cuda/short_kernels.hpp>

#include <lull/device/cuda_world.cuh>
#include <lull/host/cuda/owned.hpp>

namespace lull::trainer {

namespace {

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
  // Pairs with the release by the host, or by another stream, that stores the word.
  while (cuda_world::load<order::acquire, scope::system>(*word) < value) {
    if (cuda_world::now_ns() >= until) {
      ++*expired;  // one stream alone adds
      return;
    }
    __nanosleep(50);
  }
}

}  // namespace

void stir(stream_handle stream, float* values, std::uint64_t count, int rounds, std::uint64_t* at) {
  stir_kernel<<<stir_blocks, stir_threads, 0, static_cast<cudaStream_t>(stream)>>>(values, count, rounds, at);
  LULL_CUDA(cudaGetLastError());
}

void nothing(stream_handle stream) {
  nothing_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>();
  LULL_CUDA(cudaGetLastError());
}

void wait_for_word(stream_handle stream, std::uint32_t* word, std::uint32_t value, std::uint64_t limit_ns,
                   std::uint32_t* expired) {
  wait_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(word, value, limit_ns, expired);
  LULL_CUDA(cudaGetLastError());
}

void load_short_kernels() {
  device_buffer const two_words{2 * sizeof(std::uint32_t)};
  LULL_CUDA(cudaMemset(two_words.get(), 0, 2 * sizeof(std::uint32_t)));
  auto* const words = static_cast<std::uint32_t*>(two_words.get());
  stir(nullptr, nullptr, 0, 0, nullptr);
  nothing(nullptr);
  wait_for_word(nullptr, words, 0, 0, words + 1);
  LULL_CUDA(cudaDeviceSynchronize());
}

}  // namespace lull::trainer
