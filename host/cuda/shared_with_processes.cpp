// SPDX-License-Identifier: Apache-2.0
// What processes that work on one GPU share of it.
#include <algorithm>
#include <cstring>

#include <lull/host/cuda/executor.hpp>

namespace lull {

namespace {

/// CUDA exports whole allocations, and no smaller ones: nothing else may lie in them.
constexpr std::size_t least_exported = std::size_t{2} << 20;

/// Memory that `end` gives back, on its device.
template <cudaError_t (*end)(void*)>
std::shared_ptr<void> owned(void* memory, void* address, int device) {
  return {address, [memory, device](void*) { destroy_on(device, [memory] { end(memory); }); }};
}

}  // namespace

bool cuda_executor::runs_processes_together() const {
  int under_mps = 0;
  LULL_CUDA(cudaDeviceGetAttribute(&under_mps, cudaDevAttrMpsEnabled, device_));
  return under_mps != 0;
}

std::shared_ptr<void> cuda_executor::reach(void* host, std::size_t bytes) {
  cuda_device_guard const here{device_};
  LULL_CUDA(cudaHostRegister(host, bytes, cudaHostRegisterMapped));
  void* there = nullptr;
  cudaError_t const found = cudaHostGetDevicePointer(&there, host, 0);
  auto made = owned<cudaHostUnregister>(host, there, device_);
  LULL_CUDA(found);
  return made;
}

std::shared_ptr<void> cuda_executor::export_memory(std::size_t bytes, memory_handle& handle) {
  cuda_device_guard const here{device_};
  bytes = std::max(bytes, least_exported);
  void* memory = nullptr;
  LULL_CUDA(cudaMalloc(&memory, bytes));
  auto made = owned<cudaFree>(memory, memory, device_);
  memory_.fill_zero(memory, bytes);
  cudaIpcMemHandle_t name;
  LULL_CUDA(cudaIpcGetMemHandle(&name, memory));
  static_assert(sizeof name == sizeof handle);
  std::memcpy(handle.data(), &name, sizeof name);
  return made;
}

std::shared_ptr<void> cuda_executor::open_exported(memory_handle const& handle) {
  cuda_device_guard const here{device_};
  cudaIpcMemHandle_t name;
  std::memcpy(&name, handle.data(), sizeof name);
  void* memory = nullptr;
  LULL_CUDA(cudaIpcOpenMemHandle(&memory, name, cudaIpcMemLazyEnablePeerAccess));
  return owned<cudaIpcCloseMemHandle>(memory, memory, device_);
}

void cuda_memory::keep_free(std::size_t bytes) noexcept {
  std::size_t before = reserve_bytes_.load(std::memory_order_relaxed);
  while (before < bytes && !reserve_bytes_.compare_exchange_weak(before, bytes, std::memory_order_relaxed)) {
  }
}

}  // namespace lull
