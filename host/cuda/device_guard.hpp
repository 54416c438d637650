// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/driver.hpp>
#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>

namespace lull {

/// Makes the calling thread work on a device, in a mode that spoils no capture, until `restore_thread_to`. Pushes the
/// device's context onto the thread's stack of contexts. Going back by cudaSetDevice would instead create a context on
/// the thread's former device: half a gigabyte, even if it never worked there.
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

/// Makes the calling thread work on a device for its lifetime.
class cuda_device_guard {
 public:
  explicit cuda_device_guard(int device) : from_(adopt_thread_on(device)) {}
  ~cuda_device_guard() { restore_thread_to(from_); }
  cuda_device_guard(cuda_device_guard const&) = delete;
  cuda_device_guard& operator=(cuda_device_guard const&) = delete;

 private:
  thread_state from_;
};

/// Runs a destructor's work on its device, from any thread: a call without a context would create one on the thread's
/// current device. Does nothing if the device's context cannot be entered any longer; all that was in it is gone.
template <class Work>
void destroy_on(int device, Work&& work) noexcept {
  try {
    cuda_device_guard const here{device};
    work();
  } catch (device_error const&) {
  }
}

}  // namespace lull
