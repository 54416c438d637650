// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda/atomic>

#include <lull/device/ptx.cuh>
#include <lull/device/world.hpp>

namespace lull {

namespace detail {

LULL_HD constexpr cuda::memory_order to_cuda(order which) noexcept {
  switch (which) {
    case order::relaxed:
      return cuda::memory_order_relaxed;
    case order::acquire:
      return cuda::memory_order_acquire;
    case order::release:
      return cuda::memory_order_release;
    case order::acq_rel:
      return cuda::memory_order_acq_rel;
  }
  return cuda::memory_order_seq_cst;
}

template <scope Scope, class T>
using cuda_ref = cuda::atomic_ref<T, Scope == scope::device ? cuda::thread_scope_device : cuda::thread_scope_system>;

}  // namespace detail

/// The protocol on a GPU. It uses our PTX where every nanosecond counts (ptx.cuh says why), otherwise libcu++. Words
/// lie in global memory. Time is %globaltimer in nanoseconds, one clock for all SMs (steps of 32 ns on an H200).
struct cuda_world {
  template <order Order, scope Scope, class T>
  LULL_HD static T load(T& word) noexcept {
    if constexpr (Order == order::relaxed || (Order == order::acquire && Scope == scope::device)) {
      NV_IF_TARGET(NV_IS_DEVICE, (return ptx::load<Order, Scope>(&word);))
    }
    return detail::cuda_ref<Scope, T>{word}.load(detail::to_cuda(Order));
  }
  template <order Order, scope Scope, class T>
  LULL_HD static void store(T& word, T value) noexcept {
    detail::cuda_ref<Scope, T>{word}.store(value, detail::to_cuda(Order));
  }
  template <order Order, scope Scope, class T>
  LULL_HD static T fetch_add(T& word, T value) noexcept {
    if constexpr (Order != order::acq_rel && Scope == scope::device) {
      NV_IF_TARGET(NV_IS_DEVICE, (return ptx::fetch_add<Order>(&word, value);))
    }
    return detail::cuda_ref<Scope, T>{word}.fetch_add(value, detail::to_cuda(Order));
  }
  template <order Order, scope Scope, class T>
  LULL_HD static T fetch_or(T& word, T value) noexcept {
    return detail::cuda_ref<Scope, T>{word}.fetch_or(value, detail::to_cuda(Order));
  }
  template <order Order, scope Scope, class T>
  LULL_HD static T fetch_and(T& word, T value) noexcept {
    return detail::cuda_ref<Scope, T>{word}.fetch_and(value, detail::to_cuda(Order));
  }
  template <order Order, scope Scope, class T>
  LULL_HD static void fetch_max(T& word, T value) noexcept {
    if constexpr (Order == order::relaxed && Scope == scope::device && sizeof(T) == 8) {
      NV_IF_TARGET(NV_IS_DEVICE, (ptx::max(&word, value); return;))
    }
    detail::cuda_ref<Scope, T>{word}.fetch_max(value, detail::to_cuda(Order));
  }
  template <order Order, scope Scope, class T>
  LULL_HD static bool compare_exchange(T& word, T expected, T desired) noexcept {
    return detail::cuda_ref<Scope, T>{word}.compare_exchange_strong(expected, desired, detail::to_cuda(Order),
                                                                    cuda::memory_order_relaxed);
  }
  LULL_HD static std::uint64_t now_ns() noexcept {
    std::uint64_t ns = 0;
    NV_IF_TARGET(NV_IS_DEVICE, (asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));))
    return ns;
  }
  /// About the time in which another block commits; a longer pause would delay the sight of a close.
  LULL_HD static void pause() noexcept { NV_IF_TARGET(NV_IS_DEVICE, (__nanosleep(64);)) }
};

static_assert(world<cuda_world>);

}  // namespace lull
