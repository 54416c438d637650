// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <cuda_runtime_api.h>

#include <lull/graph/csr/csr.hpp>
#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/measure/cuda/timed_stream.hpp>

namespace lull::bench {

/// An array in the current device's memory, owned. Its contents are undefined until they are written.
template <class T>
class device_array {
 public:
  device_array() = default;
  explicit device_array(std::size_t count) : memory_(std::max<std::size_t>(count * sizeof(T), 1)), count_(count) {}
  explicit device_array(std::span<T const> values) : device_array(values.size()) {
    LULL_CUDA(cudaMemcpy(get(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice));
    LULL_CUDA(cudaStreamSynchronize(nullptr));  // else kernels of other streams could come before the last of the copy
  }

  T* get() const noexcept { return static_cast<T*>(memory_.get()); }
  std::size_t bytes() const noexcept { return count_ * sizeof(T); }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    LULL_CUDA(cudaMemcpy(values.data(), get(), bytes(), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  device_buffer memory_;
  std::size_t count_ = 0;
};

/// A copy of a graph, without its weights, in the current device's memory, owned.
class device_graph {
 public:
  explicit device_graph(csr const& graph)
      : offsets_(std::span<std::uint64_t const>{graph.offsets}),
        targets_(std::span<std::uint32_t const>{graph.targets}),
        edges_(graph.edges()),
        vertices_(graph.vertices()) {}

  csr_ref ref() const noexcept {
    return {.offsets = offsets_.get(),
            .targets = targets_.get(),
            .weights = nullptr,
            .edges = edges_,
            .vertices = vertices_};
  }

 private:
  device_array<std::uint64_t> offsets_;
  device_array<std::uint32_t> targets_;
  std::uint64_t edges_;
  std::uint32_t vertices_;
};

/// Counts that kernels write and that the host reads between two of them.
template <class Counts>
class host_read_counts {
 public:
  host_read_counts() : device_(1) { LULL_CUDA(cudaMallocHost(&pinned_, sizeof(Counts))); }
  ~host_read_counts() { cudaFreeHost(pinned_); }
  host_read_counts(host_read_counts const&) = delete;
  host_read_counts& operator=(host_read_counts const&) = delete;

  Counts* device() const noexcept { return device_.get(); }
  /// Enqueues zeroing all of them.
  void clear(cudaStream_t stream) { LULL_CUDA(cudaMemsetAsync(device_.get(), 0, sizeof(Counts), stream)); }
  /// Copies all of them, in one copy, and waits for the stream.
  Counts const& read(cudaStream_t stream) {
    LULL_CUDA(cudaMemcpyAsync(pinned_, device_.get(), sizeof(Counts), cudaMemcpyDeviceToHost, stream));
    LULL_CUDA(cudaStreamSynchronize(stream));
    return *static_cast<Counts const*>(pinned_);
  }

 private:
  device_array<Counts> device_;
  void* pinned_ = nullptr;
};

/// How many blocks of a kernel the current device runs at once.
template <class Kernel>
unsigned resident_blocks(Kernel* kernel, int threads) {
  int device = 0;
  int sms = 0;
  int blocks = 0;
  LULL_CUDA(cudaGetDevice(&device));
  LULL_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
  LULL_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reinterpret_cast<void const*>(kernel), threads, 0));
  return static_cast<unsigned>(sms) * static_cast<unsigned>(std::max(blocks, 1));
}

/// Blocks for one thread an element; at least one.
constexpr unsigned blocks_of(std::uint64_t elements, std::uint64_t a_block) noexcept {
  return static_cast<unsigned>(std::max<std::uint64_t>((elements + a_block - 1) / a_block, 1));
}

}  // namespace lull::bench
