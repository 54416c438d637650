// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/driver.hpp>
#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>

namespace lull {

/// The calling thread works on a device, and spoils nobody's capture, until it departs. The device's context is put on
/// the thread's stack of contexts: to go back by cudaSetDevice would make a context on the device that the thread came
/// from, half a gigabyte where it never worked.
inline thread_state adopt_thread_on(int device) {
  thread_state from;
  LULL_CUDA(cudaGetDevice(&from.device));
  LULL_DRIVER(driver().push_context(detail::primary_context(device)));
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaError_t const code = cudaThreadExchangeStreamCaptureMode(&mode);
  CUcontext ours{};
  if (code != cudaSuccess) driver().pop_context(&ours);
  LULL_CUDA(code);
  from.capture_mode = static_cast<int>(mode);
  return from;
}

inline void restore_thread_to(thread_state from) noexcept {
  auto mode = static_cast<cudaStreamCaptureMode>(from.capture_mode);
  cudaThreadExchangeStreamCaptureMode(&mode);
  CUcontext ours{};
  driver().pop_context(&ours);
}

/// For as long as this lives.
class cuda_device_guard {
 public:
  explicit cuda_device_guard(int device) : from_(adopt_thread_on(device)) {}
  ~cuda_device_guard() { restore_thread_to(from_); }
  cuda_device_guard(cuda_device_guard const&) = delete;
  cuda_device_guard& operator=(cuda_device_guard const&) = delete;

 private:
  thread_state from_;
};

/// What a destructor does, on whichever thread: a call without a context would make one on the thread's current device.
/// Nothing is done where the device's context cannot be entered any more; all that was in it went with it.
template <class Work>
void destroy_on(int device, Work&& work) noexcept {
  try {
    cuda_device_guard const here{device};
    work();
  } catch (device_error const&) {
  }
}

}  // namespace lull
