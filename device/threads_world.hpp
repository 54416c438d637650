// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <lull/device/world.hpp>

namespace lull {

namespace detail {

constexpr std::memory_order to_std(order which) noexcept {
  switch (which) {
    case order::relaxed:
      return std::memory_order_relaxed;
    case order::acquire:
      return std::memory_order_acquire;
    case order::release:
      return std::memory_order_release;
    case order::acq_rel:
      return std::memory_order_acq_rel;
  }
  return std::memory_order_seq_cst;
}

}  // namespace detail

/// The protocol on CPU threads. Scopes have no effect: all threads share one coherent memory.
struct threads_world {
  template <order Order, scope Scope, class T>
  static T load(T& word) noexcept {
    return std::atomic_ref<T>{word}.load(detail::to_std(Order));
  }
  template <order Order, scope Scope, class T>
  static void store(T& word, T value) noexcept {
    std::atomic_ref<T>{word}.store(value, detail::to_std(Order));
  }
  template <order Order, scope Scope, class T>
  static T fetch_add(T& word, T value) noexcept {
    return std::atomic_ref<T>{word}.fetch_add(value, detail::to_std(Order));
  }
  template <order Order, scope Scope, class T>
  static T fetch_or(T& word, T value) noexcept {
    return std::atomic_ref<T>{word}.fetch_or(value, detail::to_std(Order));
  }
  template <order Order, scope Scope, class T>
  static T fetch_and(T& word, T value) noexcept {
    return std::atomic_ref<T>{word}.fetch_and(value, detail::to_std(Order));
  }
  template <order Order, scope Scope, class T>
  static void fetch_max(T& word, T value) noexcept {
    std::atomic_ref<T> ref{word};
    T seen = ref.load(std::memory_order_relaxed);
    while (seen < value && !ref.compare_exchange_weak(seen, value, detail::to_std(Order), std::memory_order_relaxed)) {
    }
  }
  template <order Order, scope Scope, class T>
  static bool compare_exchange(T& word, T expected, T desired) noexcept {
    return std::atomic_ref<T>{word}.compare_exchange_strong(expected, desired, detail::to_std(Order),
                                                            std::memory_order_relaxed);
  }
  static std::uint64_t now_ns() noexcept {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
  }
  /// Blocks outnumber cores here, so a waiting thread yields its core.
  static void pause() noexcept { std::this_thread::yield(); }
};

static_assert(world<threads_world>);

}  // namespace lull
