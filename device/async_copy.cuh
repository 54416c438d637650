// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lull {

/// Copies of 16 bytes from global to shared memory that a thread begins now and waits for later, as PTX. They go
/// through the L2 alone, so that they find what other blocks wrote in an earlier phase. The "memory" clobbers keep
/// writes from passing a barrier.
struct async_copy {
  using address = std::uint32_t;

  /// Returns the address in shared memory.
  __device__ static address address_of(void* storage) noexcept {
    std::uint64_t wide;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(wide) : "l"(storage));
    return static_cast<address>(wide);
  }

  /// Begins a copy; both addresses are 16-byte aligned. Where `there` is false it copies zeros.
  __device__ static void fetch(address to, void const* from, bool there) noexcept {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(to), "l"(from), "r"(there ? 16 : 0)
                 : "memory");
  }
  __device__ static void end_group() noexcept { asm volatile("cp.async.commit_group;" : : : "memory"); }
  /// Blocks until at most `Left` of this thread's groups are still under way.
  template <int Left>
  __device__ static void await_groups() noexcept {
    asm volatile("cp.async.wait_group %0;" : : "n"(Left) : "memory");
  }
};

}  // namespace lull
