// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <lull/host/cuda/owned.hpp>
#include <lull/host/worker_kernel.hpp>

namespace lull {

struct worker_params;

namespace detail {

/// Returns the kernel that begins a gated graph in a bubble, the worker of every such job. It takes worker_params, the
/// conductors' relay and the executable graph of going_on_kernel.
worker_kernel conducting_worker();

/// Returns the kernel that continues after as many segments as one graph may launch; it takes the conductors' relay.
void const* going_on_kernel() noexcept;

/// Returns the kernel that runs after each segment, with `proceed_threads`; it takes the addresses of the job's
/// kept_conducting and of the conductors' relay.
void const* proceed_kernel() noexcept;
inline constexpr unsigned proceed_threads = 64;

std::size_t kept_bytes() noexcept;
std::size_t relay_bytes() noexcept;

/// Returns the kernel that stores the device's clock; it takes the address of a std::uint64_t.
void const* stamp_kernel() noexcept;

/// A rectangle of bytes in each of `depth` slices. Sizes in bytes.
struct copied_bytes {
  void* to;
  void const* from;
  std::size_t to_pitch, from_pitch;
  std::size_t to_slice, from_slice;
  std::size_t width, height, depth;
};
/// Returns the kernel of 256 threads that copies such a rectangle, in any number of blocks; it takes a copied_bytes.
void const* copy_kernel() noexcept;

struct filled_bytes {
  void* to;
  std::size_t pitch;
  std::size_t width, height;  // width: of elements
  std::uint32_t value;
  std::uint32_t element;  // bytes: 1, 2 or 4
};
/// Returns the same for a memset; it takes a filled_bytes.
void const* fill_kernel() noexcept;

}  // namespace detail

/// The graphs that begin and continue a gated graph in a bubble; a device launches graphs only from a graph. They serve
/// all such jobs of an executor. Only the host launches `beginning_` and only the device `going_on_`, because CUDA does
/// not define launches of one graph from both. Not thread-safe.
class conductor_graph {
 public:
  /// `where`: the context of its kernel. `relay`: zeroed device memory of relay_bytes(). The code is loaded and the
  /// graph uploaded when `stream` has reached this point.
  conductor_graph(CUcontext where, void* relay, cudaStream_t stream);
  /// Enqueue only.
  void launch(cudaStream_t stream, worker_params const& params);

 private:
  CUcontext const where_;
  void* relay_;
  CUgraphNode begin_ = nullptr;  // of beginning_
  cuda_graph going_on_;
  cuda_graph beginning_;
};

}  // namespace lull
