// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/make.hpp>

#include <lull/host/cuda/executor.hpp>

namespace lull::detail {

namespace {

/// The caller's thread keeps its device, and a capture of another thread's is not spoiled meanwhile.
class as_it_was {
 public:
  as_it_was() {
    if (cudaGetDevice(&device_) != cudaSuccess) cudaGetLastError();
    cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  ~as_it_was() {
    cudaThreadExchangeStreamCaptureMode(&mode_);
    if (device_ >= 0) cudaSetDevice(device_);
  }
  as_it_was(as_it_was const&) = delete;
  as_it_was& operator=(as_it_was const&) = delete;

 private:
  int device_ = -1;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace

std::unique_ptr<executor> make_cuda_executor(executor_options const& options) {
  as_it_was const caller;
  return std::make_unique<cuda_executor>(options);
}

}  // namespace lull::detail
