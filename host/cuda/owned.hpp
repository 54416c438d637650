// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <cuda_runtime_api.h>

#include <lull/host/cuda/check.hpp>

namespace lull {

/// A CUDA stream, owned. Destroying it does not wait for its work.
class cuda_stream {
 public:
  cuda_stream() = default;
  /// Non-blocking: the legacy default stream does not wait for it, nor it for that. Lower numbers come first.
  explicit cuda_stream(int priority) {
    LULL_CUDA(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority));
  }
  /// Takes a stream that was made elsewhere.
  explicit cuda_stream(cudaStream_t made) noexcept : stream_(made) {}
  cuda_stream(cuda_stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  cuda_stream& operator=(cuda_stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~cuda_stream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  cudaStream_t get() const noexcept { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A CUDA graph and one executable of it, owned.
class cuda_graph {
 public:
  cuda_graph() = default;
  /// Takes the graph, and instantiates it.
  explicit cuda_graph(cudaGraph_t captured) : graph_(captured) {
    cudaError_t const code = cudaGraphInstantiate(&executable_, graph_, 0);
    if (code != cudaSuccess) cudaGraphDestroy(graph_);
    LULL_CUDA(code);
  }
  cuda_graph(cuda_graph&& other) noexcept
      : graph_(std::exchange(other.graph_, nullptr)), executable_(std::exchange(other.executable_, nullptr)) {}
  cuda_graph& operator=(cuda_graph&& other) noexcept {
    std::swap(graph_, other.graph_);
    std::swap(executable_, other.executable_);
    return *this;
  }
  ~cuda_graph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }
  cudaGraph_t get() const noexcept { return graph_; }
  cudaGraphExec_t executable() const noexcept { return executable_; }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

enum class event_timing { off, on };

/// A CUDA event, owned.
class cuda_event {
 public:
  explicit cuda_event(event_timing timing = event_timing::on) {
    LULL_CUDA(
        cudaEventCreateWithFlags(&event_, timing == event_timing::on ? cudaEventDefault : cudaEventDisableTiming));
  }
  cuda_event(cuda_event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  cuda_event& operator=(cuda_event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~cuda_event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  cudaEvent_t get() const noexcept { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace lull
