// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/pipeline/kernels.hpp>

#include <cuda_bf16.h>

#include <lull/host/cuda/check.hpp>

namespace lull::bench {
namespace {

constexpr unsigned grid = 1024;
constexpr unsigned block = 256;
constexpr float learning_rate = 1.0f / 256;

/// SplitMix64's finaliser (Steele et al. 2014).
__device__ std::uint64_t mixed(std::uint64_t x) {
  x *= 0x9e3779b97f4a7c15ULL;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

__device__ std::uint64_t mixed(__nv_bfloat16 value, std::uint64_t place) {
  std::uint16_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return mixed(place << 16 | bits);
}

template <class Work>
__device__ void for_each(std::uint64_t count, Work work) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{block} + threadIdx.x; i < count; i += std::uint64_t{grid} * block)
    work(i);
}

__global__ void stir_kernel(__nv_bfloat16* to, __nv_bfloat16 const* from, std::uint64_t count) {
  for_each(count, [=](std::uint64_t i) {
    to[i] = __float2bfloat16(static_cast<float>(mixed(from[i], i) >> 40) * 0x1p-23f - 1.0f);
  });
}

__global__ void update_kernel(__nv_bfloat16* weights, __nv_bfloat16 const* gradient, std::uint64_t count) {
  for_each(count, [=](std::uint64_t i) {
    float const slope = __bfloat162float(gradient[i]);
    float const moved = __bfloat162float(weights[i]) - learning_rate * slope / (1.0f + fabsf(slope));
    weights[i] = __float2bfloat16(fminf(1.0f, fmaxf(-1.0f, moved)));
  });
}

__global__ void checksum_kernel(unsigned long long* sum, __nv_bfloat16 const* values, std::uint64_t count) {
  unsigned long long mine = 0;
  for_each(count, [&](std::uint64_t i) { mine += mixed(values[i], i); });
  atomicAdd(sum, mine);
}

}  // namespace

void stir(cudaStream_t stream, void* to, void const* from, std::uint64_t count) {
  stir_kernel<<<grid, block, 0, stream>>>(static_cast<__nv_bfloat16*>(to), static_cast<__nv_bfloat16 const*>(from),
                                          count);
  LULL_CUDA(cudaGetLastError());
}

void update(cudaStream_t stream, void* weights, void const* gradient, std::uint64_t count) {
  update_kernel<<<grid, block, 0, stream>>>(static_cast<__nv_bfloat16*>(weights),
                                            static_cast<__nv_bfloat16 const*>(gradient), count);
  LULL_CUDA(cudaGetLastError());
}

void add_checksum(cudaStream_t stream, std::uint64_t* sum, void const* values, std::uint64_t count) {
  static_assert(sizeof *sum == sizeof(unsigned long long));
  checksum_kernel<<<grid, block, 0, stream>>>(reinterpret_cast<unsigned long long*>(sum),
                                              static_cast<__nv_bfloat16 const*>(values), count);
  LULL_CUDA(cudaGetLastError());
}

}  // namespace lull::bench
