// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/cuda/kernels.hpp>

#include <cuda_bf16.h>

#include <lull/device/cuda_world.cuh>
#include <lull/host/cuda/check.hpp>

namespace lull::trainer {

namespace {

constexpr int nccl_blocks = 16;
constexpr int nccl_cluster = 4;
constexpr int nccl_threads = 640;
constexpr int nccl_registers_held = 78;  // compiles to 96 with the rest of the kernel
constexpr int nccl_shared_bytes = 104 * 1024;

__device__ void note_first(std::uint64_t& word, std::uint64_t ns) {
  atomicMin(reinterpret_cast<unsigned long long*>(&word), static_cast<unsigned long long>(ns));
}
__device__ void note_last(std::uint64_t& word, std::uint64_t ns) {
  atomicMax(reinterpret_cast<unsigned long long*>(&word), static_cast<unsigned long long>(ns));
}
__device__ void sleep_until(std::uint64_t ns) {
  while (cuda_world::now_ns() < ns) __nanosleep(50);
}

__global__ void wait_one_kernel(std::uint64_t ns, std::uint64_t* stamp) {
  sleep_until(cuda_world::now_ns() + ns);
  if (stamp != nullptr) *stamp = cuda_world::now_ns();
}

__global__ void __cluster_dims__(nccl_cluster) __launch_bounds__(nccl_threads, 1)
    nccl_shape_kernel(std::uint64_t ns, stamps* when, float volatile* values) {
  extern __shared__ int storage[];
  std::uint64_t const start = cuda_world::now_ns();
  long long const start_cycles = clock64();
  float held[nccl_registers_held];
#pragma unroll
  for (int i = 0; i < nccl_registers_held; ++i) held[i] = values[i];
  storage[threadIdx.x] = 1;
  if (threadIdx.x == 0 && when != nullptr) {
    note_first(when->first, start);
    note_last(when->last_in, start);
  }
  sleep_until(start + ns);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < nccl_registers_held; ++i) sum = fmaf(sum, held[i], held[i]);
  if (threadIdx.x == 0 && when != nullptr) {
    std::uint64_t const end = cuda_world::now_ns();
    note_last(when->end, end);
    auto const cycles = static_cast<std::uint64_t>(clock64() - start_cycles);
    if (blockIdx.x == 0 && end > start) when->khz = cycles * 1'000'000 / (end - start);
  }
  if (sum == 12345.678f) values[0] = static_cast<float>(storage[0]);  // never: keeps registers and storage alive
}

__global__ void burst_kernel(int fma, stamps* when, float* sink) {
  if (when != nullptr && threadIdx.x == 0) {
    std::uint64_t const now = cuda_world::now_ns();
    note_first(when->first, now);
    note_last(when->last_in, now);
  }
  float x = static_cast<float>(threadIdx.x);
  for (int i = 0; i < fma; ++i) x = fmaf(x, 1.0001f, 0.5f);
  if (when != nullptr && threadIdx.x == 0) note_last(when->end, cuda_world::now_ns());
  if (x == 12345.678f) *sink = x;
}

__global__ void stamp_kernel(std::uint64_t* when) {
  if (when != nullptr) *when = cuda_world::now_ns();
}

__global__ void random_kernel(__nv_bfloat16* values, std::uint64_t count, std::uint64_t seed) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{blockDim.x} + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    std::uint64_t x = (i + seed) * 0x9e3779b97f4a7c15ULL;  // SplitMix64's finaliser (Steele et al. 2014)
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
    x ^= x >> 31;
    values[i] = __float2bfloat16(static_cast<float>(x >> 40) * 0x1p-23f - 1.0f);
  }
}

/// 96 floats for the NCCL shape to hold in registers; made once, never freed.
float* held_values() {
  static float* const values = [] {
    void* memory = nullptr;
    LULL_CUDA(cudaMalloc(&memory, 4096));
    LULL_CUDA(cudaMemset(memory, 0, 4096));
    return static_cast<float*>(memory);
  }();
  return values;
}

}  // namespace

void wait_one_thread(cudaStream_t stream, std::uint64_t ns, std::uint64_t* stamp) {
  wait_one_kernel<<<1, 1, 0, stream>>>(ns, stamp);
  LULL_CUDA(cudaGetLastError());
}

void wait_nccl_shape(cudaStream_t stream, std::uint64_t ns, stamps* when) {
  nccl_shape_kernel<<<nccl_blocks, nccl_threads, nccl_shared_bytes, stream>>>(ns, when, held_values());
  LULL_CUDA(cudaGetLastError());
}

void burst(cudaStream_t stream, int blocks, int threads, int fma, stamps* when) {
  burst_kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, stream>>>(fma, when, held_values());
  LULL_CUDA(cudaGetLastError());
}

void stamp(cudaStream_t stream, std::uint64_t* when) {
  stamp_kernel<<<1, 1, 0, stream>>>(when);
  LULL_CUDA(cudaGetLastError());
}

void fill_random_bf16(cudaStream_t stream, void* values, std::uint64_t count, std::uint64_t seed) {
  random_kernel<<<1024, 256, 0, stream>>>(static_cast<__nv_bfloat16*>(values), count, seed);
  LULL_CUDA(cudaGetLastError());
}

void load() {
  for (void const* kernel :
       {reinterpret_cast<void const*>(&wait_one_kernel), reinterpret_cast<void const*>(&nccl_shape_kernel),
        reinterpret_cast<void const*>(&burst_kernel), reinterpret_cast<void const*>(&stamp_kernel)}) {
    LULL_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
  }
  LULL_CUDA(cudaFuncSetAttribute(reinterpret_cast<void const*>(&nccl_shape_kernel),
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, nccl_shared_bytes));
  held_values();
  wait_one_thread(nullptr, 0, nullptr);
  wait_nccl_shape(nullptr, 0, nullptr);
  burst(nullptr, 1, 32, 0, nullptr);
  stamp(nullptr, nullptr);
  LULL_CUDA(cudaDeviceSynchronize());
}

}  // namespace lull::trainer
