// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace lull {

/// Calls of the driver that the runtime does not offer, found at run time: machines without a GPU do not have the
/// driver's library, so nothing links against it.
struct cuda_driver {
  decltype(&cuStreamBatchMemOp) memory_operations = nullptr;
  decltype(&cuDeviceGet) device_get = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) retain_primary = nullptr;
  decltype(&cuCtxPushCurrent) push_context = nullptr;
  decltype(&cuCtxPopCurrent) pop_context = nullptr;
  decltype(&cuStreamGetId) stream_id = nullptr;
  decltype(&cuDeviceGetDevResource) device_resource = nullptr;
  decltype(&cuDevSmResourceSplitByCount) split_sms = nullptr;
  decltype(&cuDevResourceGenerateDesc) describe_resources = nullptr;
  decltype(&cuGreenCtxCreate) create_green = nullptr;
  decltype(&cuGreenCtxDestroy) destroy_green = nullptr;
  decltype(&cuGreenCtxStreamCreate) create_green_stream = nullptr;
  decltype(&cuGreenCtxGetDevResource) green_resource = nullptr;
  decltype(&cuCtxFromGreenCtx) context_of_green = nullptr;
  decltype(&cuGraphAddNode) add_node = nullptr;  // with kinds of edges
  decltype(&cuGraphKernelNodeGetParams) kernel_node = nullptr;
  decltype(&cuGraphKernelNodeGetAttribute) node_attribute = nullptr;
  decltype(&cuGraphKernelNodeSetAttribute) set_node_attribute = nullptr;
  decltype(&cuGraphExecKernelNodeSetParams) set_executable_node = nullptr;
  decltype(&cuLaunchKernelEx) launch_kernel = nullptr;
  decltype(&cuFuncGetName) function_name = nullptr;
  decltype(&cuKernelGetName) kernel_name = nullptr;
  decltype(&cuFuncGetAttribute) function_attribute = nullptr;
  decltype(&cuKernelGetAttribute) kernel_attribute = nullptr;
  decltype(&cuTensorMapEncodeTiled) encode_tensor_map = nullptr;
  decltype(&cuMemCreate) create_memory = nullptr;
  decltype(&cuMemRelease) release_memory = nullptr;
  decltype(&cuMemAddressReserve) reserve_addresses = nullptr;
  decltype(&cuMemAddressFree) free_addresses = nullptr;
  decltype(&cuMemMap) map_memory = nullptr;
  decltype(&cuMemUnmap) unmap_memory = nullptr;
  decltype(&cuMemSetAccess) set_access = nullptr;
  decltype(&cuGetErrorName) error_name = nullptr;

  bool has_green_contexts() const noexcept {
    return device_resource && split_sms && describe_resources && create_green && destroy_green && create_green_stream &&
           green_resource && context_of_green;
  }
  bool can_map_memory() const noexcept {
    return create_memory && release_memory && reserve_addresses && free_addresses && map_memory && unmap_memory &&
           set_access;
  }
  bool can_cut_graphs() const noexcept {
    return add_node && set_node_attribute && set_executable_node && launch_kernel && function_name && kernel_name &&
           can_read_graphs();
  }
  bool can_read_graphs() const noexcept {
    return kernel_node && node_attribute && function_attribute && kernel_attribute;
  }
};

/// Returns the calls, resolved once. Throws usage_error if the driver has no stream memory operations.
cuda_driver const& driver();

namespace detail {
/// Returns a device's primary context, as the CUDA runtime uses it. The first call makes it; it is kept until the
/// process ends.
CUcontext primary_context(int device);

void check_driver(CUresult code, char const* call, char const* file, int line);
}  // namespace detail

}  // namespace lull

/// Throws device_error with the call's text and place.
#define LULL_DRIVER(call) ::lull::detail::check_driver((call), #call, __FILE__, __LINE__)
