// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/device_guard.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/executor.hpp>

namespace lull {

/// Allocates its events when it is made, at the start of a runtime, so that a trainer's bubble allocates none.
class cuda_mark final : public bubble_mark {
 public:
  explicit cuda_mark(int device)
      : device_(device), left_(event_timing::off), opened_(event_timing::on), closed_(event_timing::on) {}
  ~cuda_mark() override {
    destroy_on(device_, [this] {
      left_.reset();
      opened_.reset();
      closed_.reset();
    });
  }
  cuda_mark(cuda_mark const&) = delete;
  cuda_mark& operator=(cuda_mark const&) = delete;
  cudaEvent_t left() const { return left_->get(); }  // after the last worker; never recorded: there was none
  cudaEvent_t opened() const { return opened_->get(); }
  cudaEvent_t closed() const { return closed_->get(); }

 private:
  int const device_;
  std::optional<cuda_event> left_;
  std::optional<cuda_event> opened_;
  std::optional<cuda_event> closed_;
};

class cuda_moment final : public stream_moment {
 public:
  explicit cuda_moment(int device) : device_(device), event_(event_timing::on) {}
  ~cuda_moment() override {
    destroy_on(device_, [this] { event_.reset(); });
  }
  cuda_moment(cuda_moment const&) = delete;
  cuda_moment& operator=(cuda_moment const&) = delete;
  cudaEvent_t event() const { return event_->get(); }

 private:
  int const device_;
  std::optional<cuda_event> event_;
};

/// Returns nothing if an event has not been reached, or was never recorded.
inline std::optional<std::chrono::nanoseconds> time_between(cudaEvent_t from, cudaEvent_t to) {
  float ms = 0;
  cudaError_t const code = cudaEventElapsedTime(&ms, from, to);
  if (code != cudaSuccess) {
    cudaGetLastError();
    if (code == cudaErrorNotReady || code == cudaErrorInvalidResourceHandle) return std::nullopt;
    LULL_CUDA(code);
  }
  return std::chrono::nanoseconds{static_cast<std::int64_t>(static_cast<double>(ms) * 1e6)};
}

}  // namespace lull
