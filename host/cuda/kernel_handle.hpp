// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <lull/host/cuda/check.hpp>
#include <lull/host/worker_kernel.hpp>

namespace lull::detail {

using kernel_lookup = cudaError_t (*)(cudaKernel_t*, void const*);

/// Returns cudaGetKernel of the CUDA runtime with which a worker's code was linked; null is this program's own.
inline kernel_lookup lookup_of(any_function runtime) noexcept {
  return runtime == nullptr ? static_cast<kernel_lookup>(&cudaGetKernel) : reinterpret_cast<kernel_lookup>(runtime);
}

/// Returns what this program's runtime launches for the kernel's `code`: the symbol if this runtime knows it; otherwise
/// the handle of the runtime that does, such as a shared library's. Throws cuda_error.
inline void const* launchable(worker_kernel const& kernel, void const* code) {
  kernel_lookup const lookup = lookup_of(kernel.runtime);
  if (lookup == static_cast<kernel_lookup>(&cudaGetKernel)) return code;
  cudaKernel_t handle{};
  LULL_CUDA(lookup(&handle, code));
  return handle;
}

/// Lets a worker's code use its shared memory, next to a trainer's kernels. Throws cuda_error.
inline void prepare_code(void const* code, team_shape const& shape) {
  // A kernel that needs another split of shared memory and L1 cannot run next to the worker; 50 % suits all.
  LULL_CUDA(cudaFuncSetAttribute(code, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
  // Required above 48 KiB; the kernel's static shared memory counts, too.
  LULL_CUDA(
      cudaFuncSetAttribute(code, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes)));
}

}  // namespace lull::detail
