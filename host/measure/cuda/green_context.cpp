// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/cuda/green_context.hpp>

#include <lull/host/cuda/check.hpp>
#include <lull/host/error.hpp>

namespace lull {

green_context::green_context(unsigned sms) {
  cuda_driver const& call = driver();
  if (!call.has_green_contexts()) throw usage_error{"this driver has no green contexts: install driver 560 or later"};
  int device = 0;
  LULL_CUDA(cudaGetDevice(&device));
  LULL_CUDA(cudaFree(nullptr));  // makes the primary context, if there is none yet
  CUdevice handle{};
  LULL_DRIVER(call.device_get(&handle, device));
  CUdevResource all{};
  LULL_DRIVER(call.device_resource(handle, &all, CU_DEV_RESOURCE_TYPE_SM));
  CUdevResource share{};
  CUdevResource rest{};
  unsigned groups = 1;
  LULL_DRIVER(call.split_sms(&share, &groups, &all, &rest, 0, sms));
  if (groups == 0) throw usage_error{"the GPU has fewer SMs than that: ask for a smaller share"};
  CUdevResourceDesc description{};
  LULL_DRIVER(call.describe_resources(&description, &share, 1));
  CUgreenCtx made{};
  LULL_DRIVER(call.create_green(&made, description, handle, CU_GREEN_CTX_DEFAULT_STREAM));
  context_.reset(made);
  sms_ = share.sm.smCount;
}

cuda_stream green_context::make_stream() const {
  CUstream made{};
  LULL_DRIVER(driver().create_green_stream(&made, context_.get(), CU_STREAM_NON_BLOCKING, priorities().lowest));
  return cuda_stream{static_cast<cudaStream_t>(made)};
}

}  // namespace lull
