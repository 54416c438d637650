// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/betweenness/betweenness_state.hpp>

namespace lull::detail {

/// What betweenness centrality adds up over a vertex's row, and what it does with the sum:
///   on the way down, over the edges that enter: σ(v) = Σ over vertices u before v of σ(u);
///   on the way back, over the edges that leave: δ(v) = σ(v) × Σ over vertices w after v of (1 + δ(w)) / σ(w).
/// Stage 0: over the neighbours of depth `next`. Stage s: over the sums of parts of the stage before, of which a row
/// has 1 / part^s of its edges.
template <std::uint32_t PartBits>
struct betweenness_rows {
  static constexpr std::uint32_t flight = 4;
  static constexpr std::uint32_t pair = 2;

  betweenness_state const& on;
  bool goes_back;
  std::uint32_t next;
  std::uint32_t stage;

  LULL_HD neighbour_lists const& lists() const noexcept { return goes_back ? on.out : on.in; }
  LULL_HD std::uint64_t begin(std::uint32_t vertex) const noexcept {
    return lists().offsets[vertex] >> (stage * PartBits);
  }
  LULL_HD std::uint64_t count(std::uint32_t vertex) const noexcept {
    return lists().degree(vertex) >> (stage * PartBits);
  }

  LULL_HD void load(std::uint64_t const (&place)[flight], auto const& store) const noexcept {
    constexpr std::uint64_t nowhere = ~std::uint64_t{0};
    if (stage != 0) {
      wide_number const* const sums = on.part_sums[(stage + 1) % 2];
      for (std::uint32_t i = 0; i < flight; ++i) {
        if (place[i] != nowhere) store(i, sums[place[i]]);
      }
      return;
    }
    std::uint32_t const* const neighbours = lists().neighbours;
    std::uint32_t vertex[flight]{};
    std::uint32_t depth[flight]{};
    for (std::uint32_t i = 0; i < flight; ++i) {
      if (place[i] != nowhere) vertex[i] = neighbours[place[i]];
    }
    for (std::uint32_t i = 0; i < flight; ++i) {
      if (place[i] != nowhere) depth[i] = on.depths[vertex[i]];
    }
    for (std::uint32_t i = 0; i < flight; ++i) {
      if (place[i] != nowhere) store(i, depth[i] == next ? on.values[vertex[i]] : wide_number{});
    }
  }

  /// All loads come first: a store would hold up those after it.
  LULL_HD void done(std::uint32_t const (&vertex)[pair], wide_number const (&sum)[pair]) const noexcept {
    constexpr std::uint32_t none = ~0U;
    if (!goes_back) {
      std::uint64_t edges[pair]{};
      for (std::uint32_t i = 0; i < pair; ++i) {
        if (vertex[i] != none) edges[i] = on.out.degree(vertex[i]);
      }
      for (std::uint32_t i = 0; i < pair; ++i) {
        if (vertex[i] == none) continue;
        on.values[vertex[i]] = edges[i] != 0 ? sum[i] : 1.0 / sum[i];  // on one that no edge leaves nothing depends
      }
      return;
    }
    wide_number paths[pair];
    double total[pair]{};
    for (std::uint32_t i = 0; i < pair; ++i) {
      if (vertex[i] == none) continue;
      paths[i] = on.values[vertex[i]];
      total[i] = on.totals[vertex[i]];
    }
    for (std::uint32_t i = 0; i < pair; ++i) {
      if (vertex[i] == none) continue;
      double const dependent = (paths[i] * sum[i]).value();
      on.totals[vertex[i]] = total[i] + dependent;
      on.values[vertex[i]] = (1 + dependent) / paths[i];
    }
  }
};

}  // namespace lull::detail
