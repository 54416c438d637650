// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/device/atomic_integer.hpp>
#include <lull/graph/betweenness/betweenness_state.hpp>

namespace lull::detail {

/// Room in the queue of levels, and in that of the next level.
struct betweenness_room {
  queue_mark out;
  queue_mark in;

  struct add {
    LULL_HD betweenness_room operator()(betweenness_room a, betweenness_room b) const noexcept {
      return {a.out + b.out, a.in + b.in};
    }
  };
};

/// A vertex that was reached just now; none without edges that enter it.
struct betweenness_entry {
  std::uint32_t vertex = 0;
  std::uint64_t out_edges = 0;
  std::uint64_t in_edges = 0;

  LULL_HD betweenness_room room() const noexcept {
    return {out_edges != 0 ? queue_mark::of(1, out_edges) : queue_mark{},
            in_edges != 0 ? queue_mark::of(1, in_edges) : queue_mark{}};
  }
};

template <std::uint32_t Piece>
struct betweenness_push_storage {
  edge_piece<Piece> piece;
  betweenness_room reserved;
};

/// Collective. Appends the threads' entries to both queues, whose ends several teams may move.
template <std::uint32_t Entries>
LULL_HD void append(betweenness_state const& on, betweenness_progress& now, betweenness_entry const (&entries)[Entries],
                    betweenness_room& reserved, auto const& team) noexcept {
  betweenness_room::add const add;
  betweenness_room mine{};
  for (betweenness_entry const& one : entries) mine = add(mine, one.room());
  betweenness_room at = team.exclusive_scan(mine, betweenness_room{}, add);
  if (team.rank() == team.size() - 1) {
    betweenness_room const all = add(at, mine);
    reserved.out = {all.out.word != 0 ? atomic_integer{now.out_tail}.fetch_add(all.out.word) : 0};
    reserved.in = {all.in.word != 0 ? atomic_integer{now.in_tail}.fetch_add(all.in.word) : 0};
  }
  team.sync();
  at = add(at, reserved);
  for (betweenness_entry const& one : entries) {
    if (one.out_edges != 0) {
      on.levels.vertex[at.out.vertices()] = one.vertex;
      on.levels.first_edge[at.out.vertices()] = at.out.edges();
    }
    if (one.in_edges != 0) {
      on.next.vertex[at.in.vertices()] = one.vertex;
      on.next.first_edge[at.in.vertices()] = at.in.edges();
    }
    at = add(at, one.room());
  }
}

/// Collective. An item of the level that `now` holds: reaches the targets of its edges that are not reached yet. Of the
/// threads that find the same one, the first one appends it.
template <std::uint32_t Piece>
LULL_HD void push_piece(betweenness_state const& on, betweenness_push_storage<Piece>& storage,
                        betweenness_progress& now, std::uint64_t item, auto const& team) noexcept {
  constexpr std::uint32_t flight = 4;  // edges that a thread visits at once
  constexpr std::uint32_t unreached = betweenness_depth::unreached;
  edge_piece<Piece>& piece = storage.piece;
  auto const [count, owners] = on.levels.load_item(
      piece, now.range, item, [&](std::uint32_t vertex, std::uint32_t) { return on.out.offsets[vertex]; }, team);
  auto const rank = static_cast<std::uint32_t>(team.rank());
  auto const size = static_cast<std::uint32_t>(team.size());
  auto const depth = static_cast<std::uint32_t>(now.depth + 1);
  for (std::uint32_t begin = 0; begin < count; begin += flight * size) {
    std::uint32_t target[flight]{};
    bool is_open[flight]{};
    betweenness_entry entry[flight];
    for (std::uint32_t i = 0; i < flight; ++i) {
      std::uint32_t const at = begin + i * size + rank;
      is_open[i] = at < count;
      if (is_open[i]) target[i] = on.out.neighbours[piece.row[piece.owner(at, owners)] + at];
    }
    for (std::uint32_t i = 0; i < flight; ++i) {
      if (is_open[i]) is_open[i] = atomic_integer{on.depths[target[i]]}.load() == unreached;
    }
    for (std::uint32_t i = 0; i < flight; ++i) {
      if (!is_open[i]) continue;
      betweenness_entry const found{target[i], on.out.degree(target[i]), on.in.degree(target[i])};  // saves a wait
      if (atomic_integer{on.depths[target[i]]}.fetch_min(depth) == unreached) entry[i] = found;
    }
    append(on, now, entry, storage.reserved, team);
  }
}

}  // namespace lull::detail
