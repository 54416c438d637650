// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <lull/device/world.hpp>

/// The atomic operations of the yield point and of entering and leaving, as our own PTX. libcu++ (CUDA 13.0) takes
/// generic addresses, so it waits even for an addition whose result is not used, to learn whether the word is in shared
/// memory. It also marks relaxed operations as clobbering memory, so each load waits for the one before. On an H200
/// both together made a yield point and the way out of a bubble about 1 µs longer (docs/decisions). Words lie in global
/// memory, except for `add`. What orders other accesses carries a "memory" clobber; what is relaxed does not.
namespace lull::ptx {

template <order Order, scope Scope, class T>
__device__ inline T load(T* word) noexcept {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  static_assert(Order == order::relaxed || (Order == order::acquire && Scope == scope::device));
  T value;
  if constexpr (Order == order::acquire && sizeof(T) == 8) {
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  } else if constexpr (Order == order::acquire) {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  } else if constexpr (Scope == scope::device && sizeof(T) == 8) {
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word));
  } else if constexpr (Scope == scope::device) {
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word));
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word));
  } else {
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word));
  }
  return value;
}

/// Device scope. Where the result is not used, the hardware does not send one.
template <order Order, class T>
__device__ inline T fetch_add(T* word, T value) noexcept {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  T before;
  if constexpr (sizeof(T) == 4) {
    static_assert(Order == order::relaxed);
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(word), "r"(value));
  } else if constexpr (Order == order::relaxed) {
    asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;" : "=l"(before) : "l"(word), "l"(value));
  } else if constexpr (Order == order::acquire) {
    asm volatile("atom.acquire.gpu.global.add.u64 %0, [%1], %2;" : "=l"(before) : "l"(word), "l"(value) : "memory");
  } else {
    asm volatile("atom.release.gpu.global.add.u64 %0, [%1], %2;" : "=l"(before) : "l"(word), "l"(value) : "memory");
  }
  return before;
}

/// Adds, relaxed, device scope, to a word of global or of shared memory. Nothing comes back, so no thread waits. The
/// compiler drops the test for the kind of memory where it knows it.
template <class T>
__device__ inline void add(T* word, T value) noexcept {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  using number = std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>;
  if (__isShared(word)) {
    __builtin_assume(__isShared(word));  // without this the compiler would test again
    atomicAdd(reinterpret_cast<number*>(word), static_cast<number>(value));
  } else if constexpr (sizeof(T) == 4) {
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" : : "l"(word), "r"(value));
  } else {
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" : : "l"(word), "l"(value));
  }
}

/// Relaxed, device scope.
__device__ inline void max(std::uint64_t* word, std::uint64_t value) noexcept {
  asm volatile("red.relaxed.gpu.global.max.u64 [%0], %1;" : : "l"(word), "l"(value));
}

/// Asks the L2 to keep the 32 bytes at this address of global memory before others. A hint.
__device__ inline void keep(void const* at) noexcept { asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(at)); }

/// Programmatic dependent launch (compute capability 9.0). A kernel that is launched before its dependencies have ended
/// waits here for them and for what they wrote; in any other launch this does nothing. The other half tells the device
/// that dependents may be launched now.
__device__ inline void await_launch_order() noexcept { asm volatile("griddepcontrol.wait;" : : : "memory"); }
__device__ inline void launch_dependents() noexcept { asm volatile("griddepcontrol.launch_dependents;"); }

}  // namespace lull::ptx
