// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/copy_lane.hpp>

#include <chrono>
#include <thread>

#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/device_guard.hpp>

namespace lull {

namespace {

cuda_stream lowest_on(int device) {
  cuda_device_guard const here{device};
  return cuda_stream{priorities().lowest};
}

}  // namespace

cuda_copy_lane::cuda_copy_lane(int device) : device_(device), own_(lowest_on(device)), stream_(own_.get()) {}

/// Makes no call that blocks. An error of the device cannot be reported here; it ends the copies, too.
cuda_copy_lane::~cuda_copy_lane() {
  try {
    while (!done()) std::this_thread::sleep_for(std::chrono::microseconds{20});
  } catch (device_error const&) {
  }
  destroy_on(device_, [this] { own_ = {}; });
}

void cuda_copy_lane::copy_in(void* to_machine, void const* from, std::size_t bytes) {
  cuda_device_guard const here{device_};
  LULL_CUDA(cudaMemcpyAsync(to_machine, from, bytes, cudaMemcpyHostToDevice, stream_));
}

void cuda_copy_lane::copy_out(void* to, void const* from_machine, std::size_t bytes) {
  cuda_device_guard const here{device_};
  LULL_CUDA(cudaMemcpyAsync(to, from_machine, bytes, cudaMemcpyDeviceToHost, stream_));
}

bool cuda_copy_lane::done() {
  cuda_device_guard const here{device_};
  return is_done(cudaStreamQuery(stream_));
}

}  // namespace lull
