// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/device/world.hpp>

#if defined(__CUDACC__)
#include <lull/device/async_copy.cuh>
#endif

namespace lull::detail {

/// 16 bytes of factors, one load.
struct alignas(16) quad {
  float at[4];
};

/// Threads of a team that work on a row of `Quads` together, a quad each, while others of their warp work on another
/// row; on a CPU each thread works on a row alone. Neighbours in rank. Quads is a power of two, at most 32.
template <std::uint32_t Quads>
class row_threads {
  static_assert(Quads >= 1 && Quads <= 32 && (Quads & (Quads - 1)) == 0);

 public:
  LULL_HD row_threads(int rank, int size) noexcept
      : rank_(static_cast<std::uint32_t>(rank)), size_(static_cast<std::uint32_t>(size)) {}

  /// Of a row's quads, those of a thread.
  LULL_HD static constexpr std::uint32_t quads_each() noexcept { return Quads / width(); }
  /// Threads of a row.
  LULL_HD static constexpr std::uint32_t width() noexcept {
#if defined(__CUDA_ARCH__)
    return Quads;
#else
    return 1;
#endif
  }

  LULL_HD std::uint32_t rows() const noexcept { return size_ / width(); }  // at a time
  LULL_HD std::uint32_t row() const noexcept { return rank_ / width(); }
  LULL_HD std::uint32_t rank() const noexcept { return rank_ % width(); }  // in its row

  // Collective, of all threads of a warp, whichever rows they work on. Were it of a row's alone, the warp would go
  // through its rows one after the other.

  /// Barrier, and memory order among the threads of a row.
  LULL_HD static void sync() noexcept {
#if defined(__CUDA_ARCH__)
    __syncwarp();
#endif
  }

  /// The greatest of the numbers that threads bring which go through the same code: on a GPU those of a warp.
  LULL_HD static std::uint32_t max(std::uint32_t count) noexcept {
#if defined(__CUDA_ARCH__)
    return __reduce_max_sync(~0U, count);
#else
    return count;
#endif
  }

  /// The sum of one number a quad of the row, in a fixed order, to all of the row.
  template <class T>
  LULL_HD static T sum(T const (&of_quad)[quads_each()]) noexcept {
#if defined(__CUDA_ARCH__)
    T value = of_quad[0];
    for (std::uint32_t apart = 1; apart < Quads; apart *= 2) value += __shfl_xor_sync(~0U, value, apart);
    return value;
#else
    T part[Quads];
    for (std::uint32_t q = 0; q < Quads; ++q) part[q] = of_quad[q];
    for (std::uint32_t apart = 1; apart < Quads; apart *= 2) {
      for (std::uint32_t q = 0; q + apart < Quads; q += 2 * apart) part[q] += part[q + apart];
    }
    return part[0];
#endif
  }

  /// Begins to copy 16 bytes from global memory, past the L1, into the team's storage; zeros if they are not `wanted`,
  /// so that no branch keeps copies apart. Both 16-byte aligned; `from` is a valid address all the same.
  LULL_HD static void fetch(void* to, void const* from, bool wanted = true) noexcept {
#if defined(__CUDA_ARCH__)
    async_copy::fetch(async_copy::address_of(to), from, wanted);
#else
    *static_cast<quad*>(to) = wanted ? *static_cast<quad const*>(from) : quad{};
#endif
  }
  /// Until what this thread fetched is there.
  LULL_HD static void await_fetched() noexcept {
#if defined(__CUDA_ARCH__)
    async_copy::end_group();
    async_copy::await_groups<0>();
#endif
  }

 private:
  std::uint32_t rank_;
  std::uint32_t size_;
};

}  // namespace lull::detail
