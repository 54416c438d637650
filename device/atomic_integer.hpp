// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <concepts>
#include <type_traits>

#include <lull/device/world.hpp>
#if defined(__CUDACC__)
#include <lull/device/cuda_world.cuh>
#endif

namespace lull {

namespace detail {

// These take generic addresses, unlike cuda_world's, because a task may count in its team's storage, too.
#if defined(__CUDA_ARCH__)
template <class T>
using relaxed_word = cuda_ref<scope::device, T>;
inline constexpr auto relaxed = cuda::memory_order_relaxed;
#else
template <class T>
using relaxed_word = std::atomic_ref<T>;
inline constexpr auto relaxed = std::memory_order_relaxed;
#endif

}  // namespace detail

/// Types that atomic_integer takes: std::uint32_t, std::uint64_t, std::int32_t, std::int64_t. Floating-point numbers
/// are excluded: their sum depends on the order of the teams, so two runs would differ.
template <class T>
concept shared_integer = std::integral<T> && !std::is_const_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);

/// An integer that threads of several teams change in one phase. One source serves blocks of a GPU and CPU threads.
/// Make it where it is used: `atomic_integer{counts[bin]}.add(1);`
///
/// The word lies in the task's arrays or in the team's storage. Sums wrap around.
///
/// Order: relaxed; a call publishes no other word. The end of a phase publishes: later phases read the integer, and all
/// else that was stored, as plain memory. In the phase that changes the integer every access goes through
/// atomic_integer.
/// Scope: all blocks of the device, or all CPU threads. The host reads the integer when the job or its round is over.
///
/// What a call returns depends on which thread came first, and a result must not. So never store what a call returned,
/// and never use it to choose where to store.
/// A chunk that was handed back runs again, and so may an item that a task which claims by itself has stored. So change
/// nothing before a chunk's last `team.leaving()`, unless doing it again changes nothing: that holds for minimum and
/// maximum, not for a sum.
template <shared_integer T>
class atomic_integer {
 public:
  LULL_HD explicit atomic_integer(T& word) noexcept : word_(&word) {}

  LULL_HD T load() const noexcept { return shared().load(detail::relaxed); }
  /// Adds without a result, so a GPU does not wait: much faster there than fetch_add.
  LULL_HD void add(T value) const noexcept {
#if defined(__CUDA_ARCH__)
    ptx::add(word_, value);
#else
    fetch_add(value);
#endif
  }
  /// Returns the previous value, as do the next two.
  LULL_HD T fetch_add(T value) const noexcept { return shared().fetch_add(value, detail::relaxed); }
  LULL_HD T fetch_min(T value) const noexcept {
    if constexpr (requires(detail::relaxed_word<T> word) { word.fetch_min(value, detail::relaxed); }) {
      return shared().fetch_min(value, detail::relaxed);
    } else {
      return replace_while([value](T seen) { return value < seen; }, value);
    }
  }
  LULL_HD T fetch_max(T value) const noexcept {
    if constexpr (requires(detail::relaxed_word<T> word) { word.fetch_max(value, detail::relaxed); }) {
      return shared().fetch_max(value, detail::relaxed);
    } else {
      return replace_while([value](T seen) { return seen < value; }, value);
    }
  }
  /// Stores `desired` and returns true if the integer is `expected`; otherwise sets `expected` to the integer.
  LULL_HD bool compare_exchange(T& expected, T desired) const noexcept {
    return shared().compare_exchange_strong(expected, desired, detail::relaxed);
  }

 private:
  /// For CPU threads: std::atomic_ref has minimum and maximum only from C++26 on.
  template <class Better>
  T replace_while(Better const& better, T value) const noexcept {
    T seen = load();
    while (better(seen) && !compare_exchange(seen, value)) continue;
    return seen;
  }

  LULL_HD detail::relaxed_word<T> shared() const noexcept { return detail::relaxed_word<T>{*word_}; }

  T* word_;
};

}  // namespace lull
