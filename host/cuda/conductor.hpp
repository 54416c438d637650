// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <lull/host/cuda/owned.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/worker_kernel.hpp>

namespace lull {

struct worker_params;

namespace detail {

/// The kernel that begins a gated graph in a bubble, as the worker of every such job. It takes worker_params and
/// the conductors' relay.
worker_kernel conducting_worker();

/// The kernel behind each segment, of `proceed_threads`; takes the addresses of the job's kept_conducting and of the
/// conductors' relay.
void const* proceed_kernel() noexcept;
inline constexpr unsigned proceed_threads = 64;

std::size_t kept_bytes() noexcept;
std::size_t relay_bytes() noexcept;

/// Stores the device's clock; takes the address of a std::uint64_t.
void const* stamp_kernel() noexcept;

/// A rectangle of bytes in each of `depth` slices. Sizes in bytes.
struct copied_bytes {
  void* to;
  void const* from;
  std::size_t to_pitch, from_pitch;
  std::size_t to_slice, from_slice;
  std::size_t width, height, depth;
};
/// The kernel of 256 threads that copies them, in any number of blocks; takes a copied_bytes.
void const* copy_kernel() noexcept;

struct filled_bytes {
  void* to;
  std::size_t pitch;
  std::size_t width, height;  // width: of elements
  std::uint32_t value;
  std::uint32_t element;  // bytes: 1, 2 or 4
};
/// The same for a memset; takes a filled_bytes.
void const* fill_kernel() noexcept;

}  // namespace detail

/// The graph that begins a gated graph in a bubble: from the device, graphs are launched in a graph alone. It serves
/// all such jobs of an executor. Not thread-safe.
class conductor_graph {
 public:
  /// `where`: the context of its kernel. `relay`: zeroed memory of the device, relay_bytes(). Its code is loaded and
  /// the graph uploaded when `stream` has come so far.
  conductor_graph(CUcontext where, void* relay, cudaStream_t stream);
  /// Enqueue only.
  void launch(cudaStream_t stream, worker_params const& params);

 private:
  /// The graph launches itself from the device, too, and CUDA does not define what comes of a launch from the host at
  /// that time: so the host takes these in turn, and one has ended before it comes again.
  static constexpr std::size_t executables = executor::max_launches_in_flight;

  CUcontext const where_;
  void* relay_;
  std::size_t next_ = 0;
  detail::owned_handle<cudaGraph_t, cudaGraphDestroy> graph_;
  std::array<detail::owned_handle<cudaGraphExec_t, cudaGraphExecDestroy>, executables> executables_;
  CUgraphNode begin_ = nullptr;
};

}  // namespace lull
