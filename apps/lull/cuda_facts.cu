// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/cuda_facts.hpp>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <lull/host/cuda/driver.hpp>

namespace lull {
namespace {

bool fine(cudaError_t code) noexcept {
  if (code != cudaSuccess) cudaGetLastError();
  return code == cudaSuccess;
}

std::optional<bool> is_lazy() noexcept {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
  if (!fine(cudaGetDriverEntryPointByVersion("cuModuleGetLoadingMode", &found, 12000, cudaEnableDefault, &status)) ||
      status != cudaDriverEntryPointSuccess) {
    return std::nullopt;
  }
  CUmoduleLoadingMode mode{};
  if (reinterpret_cast<decltype(&cuModuleGetLoadingMode)>(found)(&mode) != CUDA_SUCCESS) return std::nullopt;
  return mode == CU_MODULE_LAZY_LOADING;
}

}  // namespace

cuda_facts ask_cuda(int device) noexcept {
  cuda_facts found;
  found.built = true;
  int version = 0;
  if (fine(cudaRuntimeGetVersion(&version))) found.runtime_version = version;
  if (fine(cudaDriverGetVersion(&version)) && version != 0) found.driver_version = version;
  cudaDeviceProp properties{};
  if (!found.driver_version || !fine(cudaGetDeviceProperties(&properties, device))) return found;
  found.device_name = properties.name;
  found.capability = properties.major * 10 + properties.minor;
  found.processors = properties.multiProcessorCount;
  try {
    found.stream_memory_operations = driver().memory_operations != nullptr;
    found.green_contexts = driver().has_green_contexts();
  } catch (...) {  // a driver without stream memory operations
    found.stream_memory_operations = false;
  }
  found.lazy_loading = is_lazy();
  return found;
}

std::string pci_bus_id(int device) noexcept {
  char text[32] = {};
  return fine(cudaDeviceGetPCIBusId(text, sizeof text, device)) ? text : "";
}

}  // namespace lull
