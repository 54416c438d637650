// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/device/atomic_integer.hpp>

namespace lull::detail {

/// Trees of vertices, which many threads join at once: never does `parent` lead to a higher id. For connected
/// components (graph/components/components.hpp), where the sources stand.
struct component_forest {
  static constexpr std::uint32_t none = 0xffff'ffff;  // no vertex has this id
  static constexpr std::uint32_t max_climb = 12;      // steps of a join, where the caller sets no other limit
  static constexpr std::uint32_t abreast = 4;         // pairs that a thread joins at once

  std::uint32_t* parent;  // (vertices,) u32

  /// The parent, or one that the vertex had earlier in this phase: on a GPU it may come from the SM's own cache.
  /// Without that, all blocks would ask one place of the device's cache for the root of the largest tree. A former
  /// parent is still above the vertex, and a compare-exchange tells when a root is none any longer.
  LULL_HD std::uint32_t parent_of(std::uint32_t vertex) const noexcept {
#if defined(__CUDA_ARCH__)
    return cuda::atomic_ref<std::uint32_t, cuda::thread_scope_block>{parent[vertex]}.load(cuda::memory_order_relaxed);
#else
    return latest_parent_of(vertex);
#endif
  }
  LULL_HD std::uint32_t latest_parent_of(std::uint32_t vertex) const noexcept {
    return atomic_integer{parent[vertex]}.load();
  }

  /// Pairs of vertices whose trees are made one, side by side: their loads do not wait for each other.
  struct pairs {
    std::uint32_t high[abreast];
    std::uint32_t low[abreast];  // the same, where nothing is left to do

    LULL_HD void set(std::uint32_t i, std::uint32_t a, std::uint32_t b) noexcept {
      high[i] = a < b ? b : a;
      low[i] = a < b ? a : b;
    }
    LULL_HD bool open(std::uint32_t i) const noexcept { return high[i] != low[i]; }
  };

  /// Makes the trees of each pair one, in at most `limit` steps. Returns whether it gave one up.
  LULL_HD bool join(pairs& some, std::uint32_t limit = max_climb) const noexcept {
    for (std::uint32_t step = 0;; ++step) {
      bool open = false;
      for (std::uint32_t i = 0; i < abreast; ++i) open |= some.open(i);
      if (!open || step == limit) return open;
      std::uint32_t above_high[abreast];
      std::uint32_t above_low[abreast];
      for (std::uint32_t i = 0; i < abreast; ++i) {
        above_high[i] = some.open(i) ? parent_of(some.high[i]) : none;
        above_low[i] = some.open(i) ? parent_of(some.low[i]) : none;
      }
      for (std::uint32_t i = 0; i < abreast; ++i) {
        if (!some.open(i) || above_high[i] != some.high[i]) continue;
        // Only a root gets another tree's vertex. If another thread was faster, `above_high` becomes what that one
        // gave.
        if (!atomic_integer{parent[some.high[i]]}.compare_exchange(above_high[i], above_low[i])) continue;
        some.low[i] = some.high[i];
      }
      std::uint32_t next_high[abreast];
      std::uint32_t next_low[abreast];
      for (std::uint32_t i = 0; i < abreast; ++i) {
        next_high[i] = some.open(i) ? parent_of(above_high[i]) : none;
        next_low[i] = some.open(i) ? parent_of(above_low[i]) : none;
      }
      for (std::uint32_t i = 0; i < abreast; ++i) {
        if (some.open(i)) some.set(i, next_high[i], next_low[i]);
      }
    }
  }

  /// Whether two vertices are seen to be in one tree.
  LULL_HD bool joined(std::uint32_t a, std::uint32_t b) const noexcept {
    for (std::uint32_t step = 0; a != b && step < max_climb; ++step) {
      std::uint32_t const above_a = a < b ? a : latest_parent_of(a);
      b = a < b ? latest_parent_of(b) : b;
      a = above_a;
    }
    return a == b;
  }
};

}  // namespace lull::detail
