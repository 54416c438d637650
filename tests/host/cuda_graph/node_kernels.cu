// SPDX-License-Identifier: Apache-2.0
#include <lull/tests/host/cuda_graph/node_kernels.hpp>

#include <lull/device/cuda_world.cuh>
#include <lull/host/cuda/check.hpp>

namespace lull::test {

namespace {

__host__ __device__ std::uint32_t applied(std::uint32_t x, std::uint32_t y, std::uint32_t node) {
  return 3 * x + y + node;
}

__global__ void apply_kernel(std::uint32_t* x, std::uint32_t const* y, std::uint32_t count, std::uint32_t node,
                             std::uint64_t ns) {
  std::uint64_t const since_ns = cuda_world::now_ns();
  std::uint32_t const at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) x[at] = applied(x[at], y[at], node);
  while (cuda_world::now_ns() - since_ns < ns) {
  }
}

__global__ void note_kernel(std::uint32_t* sms) {
  std::uint32_t id;
  asm volatile("mov.u32 %0, %smid;" : "=r"(id));
  if (threadIdx.x == 0 && id < 1024) sms[id] = 1;
  std::uint64_t const since_ns = cuda_world::now_ns();
  while (cuda_world::now_ns() - since_ns < 2'000) {
  }
}

}  // namespace

void apply_node(cudaStream_t stream, std::uint32_t* x, std::uint32_t const* y, std::uint32_t count, std::uint32_t node,
                std::uint64_t ns) {
  apply_kernel<<<(count + 127) / 128, 128, 0, stream>>>(x, y, count, node, ns);
  LULL_CUDA(cudaGetLastError());
}

std::uint32_t applied_node(std::uint32_t x, std::uint32_t y, std::uint32_t node) { return applied(x, y, node); }

void note_sms(cudaStream_t stream, std::uint32_t* sms) {
  note_kernel<<<2'000, 256, 0, stream>>>(sms);
  LULL_CUDA(cudaGetLastError());
}

}  // namespace lull::test
