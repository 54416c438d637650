// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/driver.hpp>

#include <map>
#include <mutex>
#include <string>

#include <lull/host/error.hpp>

namespace lull {

namespace {

/// Leaves `into` null if the driver does not have the call.
template <class F>
void resolve(F& into, char const* name, unsigned version) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
  if (cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &status) != cudaSuccess)
    cudaGetLastError();
  into = status == cudaDriverEntryPointSuccess ? reinterpret_cast<F>(found) : nullptr;
}

cuda_driver resolve_all() {
  cuda_driver found;
  resolve(found.memory_operations, "cuStreamBatchMemOp", 12000);
  resolve(found.device_get, "cuDeviceGet", 12000);
  resolve(found.retain_primary, "cuDevicePrimaryCtxRetain", 12000);
  resolve(found.push_context, "cuCtxPushCurrent", 12000);
  resolve(found.pop_context, "cuCtxPopCurrent", 12000);
  resolve(found.stream_id, "cuStreamGetId", 12000);
  resolve(found.device_resource, "cuDeviceGetDevResource", 12040);
  resolve(found.split_sms, "cuDevSmResourceSplitByCount", 12040);
  resolve(found.describe_resources, "cuDevResourceGenerateDesc", 12040);
  resolve(found.create_green, "cuGreenCtxCreate", 12040);
  resolve(found.destroy_green, "cuGreenCtxDestroy", 12040);
  resolve(found.create_green_stream, "cuGreenCtxStreamCreate", 12050);
  resolve(found.green_resource, "cuGreenCtxGetDevResource", 12040);
  resolve(found.context_of_green, "cuCtxFromGreenCtx", 12040);
  resolve(found.add_node, "cuGraphAddNode", 13000);
  resolve(found.kernel_node, "cuGraphKernelNodeGetParams", 12000);
  resolve(found.node_attribute, "cuGraphKernelNodeGetAttribute", 12000);
  resolve(found.set_node_attribute, "cuGraphKernelNodeSetAttribute", 12000);
  resolve(found.set_executable_node, "cuGraphExecKernelNodeSetParams", 12000);
  resolve(found.launch_kernel, "cuLaunchKernelEx", 12000);
  resolve(found.function_name, "cuFuncGetName", 12030);
  resolve(found.kernel_name, "cuKernelGetName", 12030);
  resolve(found.function_attribute, "cuFuncGetAttribute", 12000);
  resolve(found.kernel_attribute, "cuKernelGetAttribute", 12000);
  resolve(found.encode_tensor_map, "cuTensorMapEncodeTiled", 12000);
  resolve(found.create_memory, "cuMemCreate", 12000);
  resolve(found.release_memory, "cuMemRelease", 12000);
  resolve(found.reserve_addresses, "cuMemAddressReserve", 12000);
  resolve(found.free_addresses, "cuMemAddressFree", 12000);
  resolve(found.map_memory, "cuMemMap", 12000);
  resolve(found.unmap_memory, "cuMemUnmap", 12000);
  resolve(found.set_access, "cuMemSetAccess", 12000);
  resolve(found.error_name, "cuGetErrorName", 12000);
  if (!found.memory_operations || !found.device_get || !found.retain_primary || !found.push_context ||
      !found.pop_context || !found.stream_id) {
    throw usage_error{"the CUDA driver has no stream memory operations or no stream ids: install driver 525 or later"};
  }
  return found;
}

}  // namespace

cuda_driver const& driver() {
  static cuda_driver const found = resolve_all();
  return found;
}

CUcontext detail::primary_context(int device) {
  static std::mutex guard;
  static auto& contexts = *new std::map<int, CUcontext>;  // never freed: our threads may run at the process's end
  std::lock_guard const lock{guard};
  if (auto const known = contexts.find(device); known != contexts.end()) return known->second;
  CUdevice handle{};
  LULL_DRIVER(driver().device_get(&handle, device));
  CUcontext context{};
  LULL_DRIVER(driver().retain_primary(&context, handle));
  return contexts[device] = context;
}

void detail::check_driver(CUresult code, char const* call, char const* file, int line) {
  if (code == CUDA_SUCCESS) return;
  char const* name = "unknown error";
  if (driver().error_name != nullptr) driver().error_name(code, &name);
  throw device_error{static_cast<int>(code), name, call, std::string{file} + ":" + std::to_string(line)};
}

}  // namespace lull
