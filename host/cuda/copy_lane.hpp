// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <lull/host/cuda/owned.hpp>
#include <lull/host/executor.hpp>

namespace lull {

/// Copies on a non-blocking stream of the lowest priority, or on one of the executor's streams. Any thread may use it,
/// on any device and during any capture.
class cuda_copy_lane final : public copy_lane {
 public:
  explicit cuda_copy_lane(int device);
  cuda_copy_lane(int device, cudaStream_t stream) : device_(device), stream_(stream) {}
  ~cuda_copy_lane() override;
  cuda_copy_lane(cuda_copy_lane const&) = delete;
  cuda_copy_lane& operator=(cuda_copy_lane const&) = delete;

  void copy_in(void* to_machine, void const* from, std::size_t bytes) override;
  void copy_out(void* to, void const* from_machine, std::size_t bytes) override;
  bool done() override;

 private:
  int const device_;
  cuda_stream own_;  // none: the stream is the executor's
  cudaStream_t const stream_;
};

}  // namespace lull
