// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/step/kernels.hpp>

#include <lull/device/cuda_world.cuh>
#include <lull/host/cuda/check.hpp>
#include <lull/host/measure/cuda/short_kernels.hpp>

namespace lull::bench {

namespace {

__global__ void set_kernel(std::uint32_t* word, std::uint32_t value, std::uint64_t* at) {
  if (at != nullptr) *at = cuda_world::now_ns();
  cuda_world::store<order::release, scope::system>(*word, value);  // publishes the moment; the word may be the host's
}

}  // namespace

void set_word(cudaStream_t stream, std::uint32_t* word, std::uint32_t value, std::uint64_t* at) {
  set_kernel<<<1, 1, 0, stream>>>(word, value, at);
  LULL_CUDA(cudaGetLastError());
}

void load_step_kernels() {
  trainer::load_short_kernels();
  std::uint32_t* word = nullptr;
  LULL_CUDA(cudaMalloc(reinterpret_cast<void**>(&word), 256));
  set_word(nullptr, word, 0, nullptr);
  LULL_CUDA(cudaDeviceSynchronize());
  LULL_CUDA(cudaFree(word));
}

}  // namespace lull::bench
