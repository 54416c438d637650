// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <lull/device/atomic_integer.hpp>

namespace lull::detail {

/// How often each vertex is among the targets of an item's edges: a table in team storage, so that memory sees one
/// change for each vertex, however many of the edges lead to it. Without it, items full of edges to one hub would wait
/// for each other at one word, edge by edge.
///
/// Open addressing with a second hash for the step, which is odd: so a search comes by all places, and ends while fewer
/// than `Places` vertices are in the table. Where a vertex lies depends on timing, its count does not.
template <std::uint32_t Places>
struct target_counts {
  static_assert(std::has_single_bit(Places) && Places >= 2);
  static constexpr std::uint32_t places = Places;
  static constexpr std::uint32_t none = ~0U;                                       // no vertex has this id
  static constexpr int shift = 32 - static_cast<int>(std::bit_width(Places) - 1);  // leaves a place of a hash

  std::uint32_t vertex[Places];
  std::uint32_t times[Places];  // where a vertex is

  /// All threads of the team; a barrier must follow.
  LULL_HD void clear(auto const& team) noexcept {
    for (auto at = static_cast<std::uint32_t>(team.rank()); at < Places;
         at += static_cast<std::uint32_t>(team.size())) {
      vertex[at] = none;
      times[at] = 0;
    }
  }

  /// Any thread, while others do the same.
  LULL_HD void add(std::uint32_t target) noexcept {
    std::uint32_t const step = (target * 0x85eb'ca6bU) >> 16 | 1;
    for (std::uint32_t at = (target * 0x9e37'79b1U) >> shift;; at = (at + step) % Places) {
      atomic_integer const key{vertex[at]};
      std::uint32_t seen = key.load();
      if (seen == none && key.compare_exchange(seen, target)) seen = target;
      if (seen != target) continue;
      atomic_integer{times[at]}.add(1);
      return;
    }
  }
};

}  // namespace lull::detail
