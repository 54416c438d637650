// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/step/worker_streams.hpp>

namespace lull::bench {

namespace {

constexpr unsigned sms = 112;  // of 132

/// Null where the driver cannot.
CUgreenCtx make_context() {
  cuda_driver const& call = driver();
  if (!call.has_green_contexts()) return nullptr;
  CUdevice device{};
  CUdevResource all{};
  CUdevResource part{};
  CUdevResource rest{};
  CUdevResourceDesc described{};
  CUgreenCtx made{};
  unsigned count = 1;
  bool const is_made = call.device_get(&device, 0) == CUDA_SUCCESS &&
                       call.device_resource(device, &all, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS &&
                       call.split_sms(&part, &count, &all, &rest, 0, sms) == CUDA_SUCCESS &&
                       call.describe_resources(&described, &part, 1) == CUDA_SUCCESS &&
                       call.create_green(&made, described, device, CU_GREEN_CTX_DEFAULT_STREAM) == CUDA_SUCCESS;
  return is_made ? made : nullptr;
}

}  // namespace

worker_streams::worker_streams(int of_each) : context_(make_context()) {
  int lowest = 0;
  int highest = 0;
  LULL_CUDA(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  // By turns, so that neither kind has all the early channels.
  for (int i = 0; i < of_each; ++i) {
    all_.push_back({owned_.emplace_back(lowest).get(), false});
    if (context_ == nullptr) continue;
    CUstream green{};
    LULL_DRIVER(driver().create_green_stream(&green, context_, CU_STREAM_NON_BLOCKING, lowest));
    all_.push_back({owned_.emplace_back(static_cast<cudaStream_t>(green)).get(), true});
  }
}

worker_streams::~worker_streams() {
  owned_.clear();
  if (context_ != nullptr) driver().destroy_green(context_);
}

cudaStream_t worker_streams::any(bool green) const noexcept {
  for (one const& each : all_) {
    if (each.green == green) return each.stream;
  }
  return nullptr;
}

}  // namespace lull::bench
