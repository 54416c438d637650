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

// In generic addresses, unlike cuda_world's: a task may count in its team's storage, too.
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

/// What atomic_integer is for: std::uint32_t, std::uint64_t, std::int32_t, std::int64_t. Not floating-point numbers:
/// their sum depends on the order of the teams, and no two runs would end alike.
template <class T>
concept shared_integer = std::integral<T> && !std::is_const_v<T> && (sizeof(T) == 4 || sizeof(T) == 8);

/// An integer that threads of several teams change in one phase: one source for blocks of a GPU and for CPU threads.
/// Made where it is used: `atomic_integer{counts[bin]}.add(1);`
///
/// The word lies in the task's arrays or in the team's storage. Sums wrap around.
///
/// Order: relaxed; a call publishes no other word. The end of a phase does: later phases read the integer, and all else
/// that was stored, as plain memory. In the phase that changes it every access goes through atomic_integer.
/// Scope: all blocks of the device, or all CPU threads. The host reads the integer when the job or its round is over.
///
/// What a call returns depends on which thread came first. A result must not, so never store it, or store anything at a
/// place that it names. A chunk that was handed back is done again, and so may an item be that a task which claims by
/// itself has stored. So nothing is changed before a chunk's last `team.leaving()`, unless to do it again changes
/// nothing: minimum and maximum bear that, a sum does not.
template <shared_integer T>
class atomic_integer {
 public:
  LULL_HD explicit atomic_integer(T& word) noexcept : word_(&word) {}

  LULL_HD T load() const noexcept { return shared().load(detail::relaxed); }
  /// Returns nothing, so on a GPU nothing is waited for: much faster there than fetch_add.
  LULL_HD void add(T value) const noexcept {
#if defined(__CUDA_ARCH__)
    ptx::add(word_, value);
#else
    fetch_add(value);
#endif
  }
  /// The next three return the value before.
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
  /// Stores `desired` and returns true if the integer is `expected`; else sets `expected` to the integer.
  LULL_HD bool compare_exchange(T& expected, T desired) const noexcept {
    return shared().compare_exchange_strong(expected, desired, detail::relaxed);
  }

 private:
  /// On CPU threads: std::atomic_ref has minimum and maximum from C++26 on.
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
