// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/side_runner/green_stream.hpp>

#include <lull/host/cuda/check.hpp>
#include <lull/host/error.hpp>

namespace lull::bench {

green_stream::green_stream(unsigned sms) {
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
  LULL_DRIVER(call.create_green(&context_, description, handle, CU_GREEN_CTX_DEFAULT_STREAM));
  CUstream stream{};
  CUresult const made = call.create_green_stream(&stream, context_, CU_STREAM_NON_BLOCKING, priorities().lowest);
  if (made != CUDA_SUCCESS) call.destroy_green(context_);  // no destructor runs after a throw
  LULL_DRIVER(made);
  stream_ = cuda_stream{static_cast<cudaStream_t>(stream)};
  sms_ = share.sm.smCount;
}

green_stream::~green_stream() {
  stream_ = {};
  driver().destroy_green(context_);
}

}  // namespace lull::bench
