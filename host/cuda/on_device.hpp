// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/cuda/check.hpp>
#include <lull/host/executor.hpp>

namespace lull {

/// The calling thread works on a device, and spoils nobody's capture, until it departs.
inline visit arrive_on(int device) {
  visit from;
  LULL_CUDA(cudaGetDevice(&from.device));
  if (from.device != device) LULL_CUDA(cudaSetDevice(device));
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  LULL_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  from.capture_mode = static_cast<int>(mode);
  return from;
}

inline void depart_from(int device, visit from) noexcept {
  auto mode = static_cast<cudaStreamCaptureMode>(from.capture_mode);
  cudaThreadExchangeStreamCaptureMode(&mode);
  if (from.device != device) cudaSetDevice(from.device);
}

/// For as long as this lives.
class on_device {
 public:
  explicit on_device(int device) : device_(device), from_(arrive_on(device)) {}
  ~on_device() { depart_from(device_, from_); }
  on_device(on_device const&) = delete;
  on_device& operator=(on_device const&) = delete;

 private:
  int device_;
  visit from_;
};

}  // namespace lull
