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
__device__ std::uint64_t mixed(float value, std::uint64_t place) {
  std::uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return mixed(place << 32 ^ bits);
}

__device__ float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ float to_float(float value) { return value; }
__device__ void store(__nv_bfloat16& to, float value) { to = __float2bfloat16(value); }
__device__ void store(float& to, float value) { to = value; }

/// In [−1, 1).
__device__ float uniform(std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f; }

template <class Work>
__device__ void for_each(std::uint64_t count, Work work) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{block} + threadIdx.x; i < count; i += std::uint64_t{grid} * block)
    work(i);
}

template <class Number>
__global__ void stir_kernel(Number* to, Number const* from, std::uint64_t count) {
  for_each(count, [=](std::uint64_t i) { store(to[i], uniform(mixed(from[i], i))); });
}

template <class Number>
__global__ void update_kernel(Number* weights, Number const* gradient, std::uint64_t count) {
  for_each(count, [=](std::uint64_t i) {
    float const slope = to_float(gradient[i]);
    float const moved = to_float(weights[i]) - learning_rate * slope / (1.0f + fabsf(slope));
    store(weights[i], fminf(1.0f, fmaxf(-1.0f, moved)));
  });
}

template <class Number>
__global__ void checksum_kernel(unsigned long long* sum, Number const* values, std::uint64_t count) {
  unsigned long long mine = 0;
  for_each(count, [&](std::uint64_t i) { mine += mixed(values[i], i); });
  atomicAdd(sum, mine);
}

/// Calls `launch` with a null pointer of the numbers' type.
template <class Launch>
void with_type(number_kind numbers, Launch launch) {
  if (numbers == number_kind::bf16) {
    launch(static_cast<__nv_bfloat16*>(nullptr));
  } else {
    launch(static_cast<float*>(nullptr));
  }
  LULL_CUDA(cudaGetLastError());
}

}  // namespace

void stir(cudaStream_t stream, number_kind numbers, void* to, void const* from, std::uint64_t count) {
  with_type(numbers, [&]<class Number>(Number*) {
    stir_kernel<<<grid, block, 0, stream>>>(static_cast<Number*>(to), static_cast<Number const*>(from), count);
  });
}

void update(cudaStream_t stream, number_kind numbers, void* weights, void const* gradient, std::uint64_t count) {
  with_type(numbers, [&]<class Number>(Number*) {
    update_kernel<<<grid, block, 0, stream>>>(static_cast<Number*>(weights), static_cast<Number const*>(gradient),
                                              count);
  });
}

void add_checksum(cudaStream_t stream, number_kind numbers, std::uint64_t* sum, void const* values,
                  std::uint64_t count) {
  static_assert(sizeof *sum == sizeof(unsigned long long));
  with_type(numbers, [&]<class Number>(Number*) {
    checksum_kernel<<<grid, block, 0, stream>>>(reinterpret_cast<unsigned long long*>(sum),
                                                static_cast<Number const*>(values), count);
  });
}

}  // namespace lull::bench
