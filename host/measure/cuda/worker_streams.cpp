// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/cuda/worker_streams.hpp>

namespace lull {

namespace {

/// Of the SMs of the current device; null where the driver cannot.
CUgreenCtx make_context() {
  cuda_driver const& call = driver();
  if (!call.has_green_contexts()) return nullptr;
  int number = 0;
  LULL_CUDA(cudaGetDevice(&number));
  CUdevice device{};
  CUdevResource all{};
  CUdevResource part{};
  CUdevResource rest{};
  CUdevResourceDesc described{};
  CUgreenCtx made{};
  unsigned count = 1;
  bool const is_made = call.device_get(&device, number) == CUDA_SUCCESS &&
                       call.device_resource(device, &all, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS &&
                       call.split_sms(&part, &count, &all, &rest, 0, all.sm.smCount * 112 / 132) == CUDA_SUCCESS &&
                       call.describe_resources(&described, &part, 1) == CUDA_SUCCESS &&
                       call.create_green(&made, described, device, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_SUCCESS;
  return is_made ? made : nullptr;
}

}  // namespace

worker_streams::worker_streams(int of_each) : context_(make_context()) {
  int const lowest = priorities().lowest;
  // By turns, so that neither kind has all the early channels.
  for (int i = 0; i < of_each; ++i) {
    all_.push_back({owned_.emplace_back(lowest).get(), false});
    if (context_ == nullptr) continue;
    CUstream green{};
    LULL_DRIVER(driver().create_green_stream(&green, context_.get(), CU_STREAM_NON_BLOCKING, lowest));
    all_.push_back({owned_.emplace_back(static_cast<cudaStream_t>(green)).get(), true});
  }
}

void worker_streams::destroy::operator()(CUgreenCtx made) const noexcept { driver().destroy_green(made); }

}  // namespace lull
