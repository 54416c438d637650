// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include <cuda_runtime_api.h>

#include <lull/host/cuda/check.hpp>

namespace lull {
namespace detail {

template <class Handle, cudaError_t (*destroy)(Handle)>
struct cuda_destroyer {
  void operator()(Handle handle) const noexcept { destroy(handle); }
};
template <class Handle, cudaError_t (*destroy)(Handle)>
using owned_handle = std::unique_ptr<std::remove_pointer_t<Handle>, cuda_destroyer<Handle, destroy>>;

using owned_graph = owned_handle<cudaGraph_t, cudaGraphDestroy>;
using owned_executable = owned_handle<cudaGraphExec_t, cudaGraphExecDestroy>;

/// Makes a graph without nodes.
inline owned_graph new_graph() {
  cudaGraph_t made = nullptr;
  LULL_CUDA(cudaGraphCreate(&made, 0));
  return owned_graph{made};
}
inline owned_executable executable_of(cudaGraph_t graph, unsigned long long flags) {
  cudaGraphExec_t made = nullptr;
  LULL_CUDA(cudaGraphInstantiate(&made, graph, flags));
  return owned_executable{made};
}

}  // namespace detail

/// Owns a CUDA stream. Destroying it does not wait for its work.
class cuda_stream {
 public:
  cuda_stream() = default;
  /// Non-blocking: it and the legacy default stream do not wait for each other. A lower number is a higher priority.
  explicit cuda_stream(int priority) {
    cudaStream_t made = nullptr;
    LULL_CUDA(cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, priority));
    stream_.reset(made);
  }
  /// Takes a stream that was made elsewhere.
  explicit cuda_stream(cudaStream_t made) noexcept : stream_(made) {}
  cudaStream_t get() const noexcept { return stream_.get(); }

 private:
  detail::owned_handle<cudaStream_t, cudaStreamDestroy> stream_;
};

/// The priorities that streams of the current device can have; the highest is the smaller number.
struct stream_priorities {
  int lowest = 0;
  int highest = 0;
};
inline stream_priorities priorities() {
  stream_priorities found;
  LULL_CUDA(cudaDeviceGetStreamPriorityRange(&found.lowest, &found.highest));
  return found;
}

/// Owns a CUDA graph and one executable of it.
class cuda_graph {
 public:
  cuda_graph() = default;
  /// Takes ownership of the graph and instantiates it.
  explicit cuda_graph(cudaGraph_t graph, unsigned long long flags = 0)
      : graph_(graph), executable_(detail::executable_of(graph, flags)) {}
  cudaGraph_t get() const noexcept { return graph_.get(); }
  cudaGraphExec_t executable() const noexcept { return executable_.get(); }

 private:
  detail::owned_graph graph_;
  detail::owned_executable executable_;
};

/// Owns memory of the current device. Allocating and freeing may wait for the device.
class device_buffer {
 public:
  device_buffer() = default;
  explicit device_buffer(std::size_t bytes) {
    void* made = nullptr;
    LULL_CUDA(cudaMalloc(&made, bytes));
    memory_.reset(made);
  }
  void* get() const noexcept { return memory_.get(); }

 private:
  detail::owned_handle<void*, cudaFree> memory_;
};

enum class event_timing { off, on };

/// Owns a CUDA event.
class cuda_event {
 public:
  explicit cuda_event(event_timing timing = event_timing::on) {
    cudaEvent_t made = nullptr;
    LULL_CUDA(cudaEventCreateWithFlags(&made, timing == event_timing::on ? cudaEventDefault : cudaEventDisableTiming));
    event_.reset(made);
  }
  cudaEvent_t get() const noexcept { return event_.get(); }

 private:
  detail::owned_handle<cudaEvent_t, cudaEventDestroy> event_;
};

}  // namespace lull
