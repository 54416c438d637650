// SPDX-License-Identifier: Apache-2.0
#include <lull/tests/host/cuda_graph/node_kernels.hpp>

#include <lull/device/cuda_world.cuh>
#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/driver.hpp>

__global__ void ncclDevKernel_StandsIn(int) {}

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

__global__ void apply_early_kernel(std::uint32_t* x, std::uint32_t const* y, std::uint32_t count, std::uint32_t node) {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
#endif
  std::uint64_t const since_ns = cuda_world::now_ns();
  while (cuda_world::now_ns() - since_ns < 10'000) {
  }
  std::uint32_t const at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) x[at] = applied(x[at], y[at], node);
}

__global__ void slow_first_kernel(std::uint32_t* runs, std::uint64_t ns) {
  std::uint64_t const since_ns = cuda_world::now_ns();
  while (*runs == 0 && cuda_world::now_ns() - since_ns < ns) {
  }
  ++*runs;
}

__global__ void note_cluster_kernel(std::uint32_t* found) {
  std::uint32_t blocks = 0;
#if __CUDA_ARCH__ >= 900
  asm volatile("mov.u32 %0, %cluster_nctaid.x;" : "=r"(blocks));
#endif
  if (threadIdx.x == 0) found[blockIdx.x] = blocks;
}

/// note_kernel for one warp.
constexpr char ptx[] = R"(
.version 8.0
.target sm_70
.address_size 64
.visible .entry note(.param .u64 sms) {
  .reg .pred %more;
  .reg .u32 %id, %one;
  .reg .u64 %at, %since, %now;
  ld.param.u64 %at, [sms];
  mov.u32 %id, %smid;
  mad.wide.u32 %at, %id, 4, %at;
  mov.u32 %one, 1;
  st.u32 [%at], %one;
  mov.u64 %since, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %since;
  setp.lt.u64 %more, %now, 2000;
  @%more bra again;
  ret;
}
)";

template <class Call>
Call driver_call(char const* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  LULL_CUDA(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
  return reinterpret_cast<Call>(found);
}

}  // namespace

module_kernel::module_kernel() {
  LULL_DRIVER(driver_call<decltype(&cuModuleLoadData)>("cuModuleLoadData")(&module_, ptx));
  LULL_DRIVER(driver_call<decltype(&cuModuleGetFunction)>("cuModuleGetFunction")(&function_, module_, "note"));
}

module_kernel::~module_kernel() { driver_call<decltype(&cuModuleUnload)>("cuModuleUnload")(module_); }

void module_kernel::note_sms(cudaStream_t stream, std::uint32_t* sms) const {
  void* arguments[] = {&sms};
  LULL_DRIVER(driver_call<decltype(&cuLaunchKernel)>("cuLaunchKernel")(function_, 2'000, 1, 1, 256, 1, 1, 0, stream,
                                                                       arguments, nullptr));
}

void apply_node(cudaStream_t stream, std::uint32_t* x, std::uint32_t const* y, std::uint32_t count, std::uint32_t node,
                std::uint64_t ns) {
  apply_kernel<<<(count + 127) / 128, 128, 0, stream>>>(x, y, count, node, ns);
  LULL_CUDA(cudaGetLastError());
}

std::uint32_t applied_node(std::uint32_t x, std::uint32_t y, std::uint32_t node) { return applied(x, y, node); }

void apply_early_node(cudaStream_t stream, std::uint32_t* x, std::uint32_t const* y, std::uint32_t count,
                      std::uint32_t node) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how{};
  how.gridDim = dim3{(count + 127) / 128};
  how.blockDim = dim3{128};
  how.stream = stream;
  how.attrs = &early;
  how.numAttrs = 1;
  LULL_CUDA(cudaLaunchKernelEx(&how, apply_early_kernel, x, y, count, node));
}

void exchange_node(cudaStream_t stream) {
  ncclDevKernel_StandsIn<<<1, 32, 0, stream>>>(0);
  LULL_CUDA(cudaGetLastError());
}

void slow_first_node(cudaStream_t stream, std::uint32_t* runs, std::uint64_t ns) {
  slow_first_kernel<<<1, 1, 0, stream>>>(runs, ns);
  LULL_CUDA(cudaGetLastError());
}

void note_clusters(cudaStream_t stream, std::uint32_t* found, std::uint32_t blocks) {
  cudaLaunchAttribute pairs{};
  pairs.id = cudaLaunchAttributeClusterDimension;
  pairs.val.clusterDim.x = 2;
  pairs.val.clusterDim.y = 1;
  pairs.val.clusterDim.z = 1;
  cudaLaunchConfig_t how{};
  how.gridDim = dim3{blocks};
  how.blockDim = dim3{32};
  how.stream = stream;
  how.attrs = &pairs;
  how.numAttrs = 1;
  LULL_CUDA(cudaLaunchKernelEx(&how, note_cluster_kernel, found));
}

void note_sms(cudaStream_t stream, std::uint32_t* sms) {
  note_kernel<<<2'000, 256, 0, stream>>>(sms);
  LULL_CUDA(cudaGetLastError());
}

}  // namespace lull::test
