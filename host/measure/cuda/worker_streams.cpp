// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/cuda/worker_streams.hpp>

#include <lull/host/error.hpp>

namespace lull {

namespace {

/// Of the SMs of the current device; null where the driver cannot.
std::unique_ptr<green_context> make_context() {
  int device = 0;
  int sms = 0;
  LULL_CUDA(cudaGetDevice(&device));
  LULL_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  try {
    return std::make_unique<green_context>(static_cast<unsigned>(sms * 112 / 132));
  } catch (error const&) {
    return nullptr;
  }
}

}  // namespace

worker_streams::worker_streams(int of_each) : context_(make_context()) {
  // By turns, so that neither kind has all the early channels.
  for (int i = 0; i < of_each; ++i) {
    all_.push_back({owned_.emplace_back(priorities().lowest).get(), false});
    if (context_ != nullptr) all_.push_back({owned_.emplace_back(context_->make_stream()).get(), true});
  }
}

}  // namespace lull
