// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/device/atomic_integer.hpp>
#include <lull/graph/bfs/bfs_state.hpp>

namespace lull::detail {

template <std::uint32_t Piece>
struct push_storage {
  edge_piece<Piece> piece;
  bfs_progress now;  // where one team alone does the levels: nearer than the machine's memory
};

/// Collective. An item of a level of `range` at `depth`: makes the labels of its targets less, and appends those that
/// were unreached at `tail`.
template <std::uint32_t Piece>
LULL_HD void push_piece(bfs_state const& on, edge_piece<Piece>& storage, queue_range range, std::uint64_t item,
                        std::uint64_t depth, std::uint64_t& tail, auto const& team) noexcept {
  constexpr std::uint32_t flight = 4;  // edges that a thread visits at once
  constexpr std::uint32_t none = ~0U;
  auto const [count, owners] = on.queue.load_item(
      storage, range, item, [&](std::uint32_t vertex, std::uint32_t) { return on.out_offsets[vertex]; }, team);
  std::uint64_t* const label = on.label();
  auto const size = static_cast<std::uint32_t>(team.size());
  for (std::uint32_t at = 0; at < count; at += flight * size) {
    std::uint32_t parent[flight];
    queue_entry target[flight];
    for (std::uint32_t i = 0; i < flight; ++i) {
      std::uint32_t const edge = at + i * size + static_cast<std::uint32_t>(team.rank());
      parent[i] = none;
      if (edge >= count) continue;
      std::uint32_t const owner = storage.owner(edge, owners);
      parent[i] = storage.vertex[owner];
      target[i].vertex = on.out_targets[storage.row[owner] + edge];
    }
    for (std::uint32_t i = 0; i < flight; ++i) {
      if (parent[i] == none) continue;
      if (atomic_integer{label[target[i].vertex]}.load() <= bfs_label::of(depth + 1, parent[i])) parent[i] = none;
    }
    for (std::uint32_t i = 0; i < flight; ++i) {
      if (parent[i] == none) continue;
      std::uint64_t const edges = on.degree(target[i].vertex);  // before it is known to count: that saves a wait
      std::uint64_t const before =
          atomic_integer{label[target[i].vertex]}.fetch_min(bfs_label::of(depth + 1, parent[i]));
      if (before == bfs_label::unreached) target[i].edges = edges;
    }
    on.queue.append(tail, target, storage.reserved, team);
  }
}

/// Collective. The only item of its phase: up to `Levels` levels, as long as one fits into a piece.
template <std::uint32_t Levels, std::uint32_t Piece>
LULL_HD void push_small(bfs_state const& on, push_storage<Piece>& storage, auto const& team) noexcept {
  bfs_progress& now = storage.now;
  if (team.rank() == 0) now = *on.progress;
  team.sync();
  for (std::uint32_t level = 0; level < Levels; ++level) {
    push_piece(on, storage.piece, now.range, 0, now.depth, now.tail, team);
    team.sync();
    if (team.rank() == 0) now.push_ended();
    team.sync();
    if (now.range.edges() == 0 || now.range.edges() > Piece) break;
  }
  if (team.rank() == 0) *on.progress = now;
}

}  // namespace lull::detail
