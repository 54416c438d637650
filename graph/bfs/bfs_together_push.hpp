// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/device/atomic_integer.hpp>
#include <lull/graph/bfs/bfs_together_state.hpp>
#include <lull/graph/bits.hpp>
#include <lull/graph/sweep.hpp>

namespace lull::detail {

/// Says that a vertex of the next frontier is reached by many searches, if it is.
LULL_HD inline void note_crowd(std::uint64_t& crowded, std::uint64_t searches) noexcept {
  if (ones_of_word(searches) <= bfs_together_progress::crowd) return;
  atomic_integer const flag{crowded};
  if (flag.load() == 0) flag.fetch_max(1);
}

/// The phases of searches at once that push. Calls are collective.
template <std::uint32_t Piece>
struct bfs_together_pusher {
  static_assert(Piece % bfs_together_progress::many_slices == 0);

  /// Team storage.
  struct storage {
    edge_piece<Piece> piece;
    std::uint64_t searches[Piece];  // (vertices,) that reached a vertex of the piece at this depth
    bfs_together_progress now;      // where one team does the levels: nearer than the machine's memory
  };

  bfs_together_state const& on;

  LULL_HD static std::uint64_t pieces(bfs_together_progress const& now) noexcept {
    return parts(now.range().edges(), Piece / static_cast<std::uint32_t>(now.slices));
  }

  /// An item of a level: makes the labels of its targets less, and appends those that a search has reached at `now`.
  /// In the running sum of the queue's edges a vertex is one more, before its edges: there it becomes seen.
  LULL_HD void push(std::uint64_t item, storage& shared, bfs_together_progress& now, auto const& team) const noexcept {
    constexpr std::uint32_t flight = 4;  // edges that a thread visits at once
    auto const slices = static_cast<std::uint32_t>(now.slices);
    std::uint32_t const width = Piece / slices;
    std::uint64_t const begin = item * width;
    std::uint64_t const left = now.range().edges() - begin;
    std::uint32_t const count = left < width ? static_cast<std::uint32_t>(left) : width;
    auto const rank = static_cast<std::uint32_t>(team.rank());
    auto const size = static_cast<std::uint32_t>(team.size());
    edge_piece<Piece>& piece = shared.piece;
    std::uint32_t const owners = on.queue(now.depth).load(
        piece, now.range(), begin, count,
        [&](std::uint32_t vertex, std::uint32_t) { return on.out_offsets[vertex] - 1; }, team);
    bool const whole = piece.row[0] + 1 == on.out_offsets[piece.vertex[0]];  // the first vertex begins here
    std::uint64_t const* const reached = on.reached_at(now.depth);
    for (std::uint32_t owner = rank; owner < owners; owner += size) {
      std::uint32_t const vertex = piece.vertex[owner];
      shared.searches[owner] = reached[vertex];
      // Other items may read the word before. They then try a label of this depth without effect.
      if (owner != 0 || whole) atomic_integer{on.seen()[vertex]}.add(reached[vertex]);
    }
    team.sync();
    std::uint64_t pairs = 0;
    for (std::uint32_t at = 0; at < count * slices; at += flight * size) {
      std::uint32_t parent[flight]{};
      std::uint64_t wanted[flight]{};
      queue_entry target[flight];
      for (std::uint32_t i = 0; i < flight; ++i) {
        std::uint32_t const slot = at + i * size + rank;
        if (slot >= count * slices) continue;
        std::uint32_t const unit = slices == 1 ? slot : slot / many;
        std::uint32_t const owner = piece.owner(unit, owners);
        if (unit == piece.first[owner] && (owner != 0 || whole)) continue;  // the vertex itself
        parent[i] = piece.vertex[owner];
        target[i].vertex = on.out_targets[piece.row[owner] + unit];
        wanted[i] = shared.searches[owner] & (slices == 1 ? ~std::uint64_t{0} : slice(slot % many));
      }
      for (std::uint32_t i = 0; i < flight; ++i) {
        if (wanted[i] != 0) wanted[i] &= ~atomic_integer{on.seen()[target[i].vertex]}.load();
      }
      std::uint64_t first[flight]{};
      reach(parent, target, wanted, now.depth + 1, first);
      for (std::uint32_t i = 0; i < flight; ++i) {
        if (first[i] != 0) pairs += put(target[i], first[i], now);
      }
      on.queue(now.depth + 1).append(now.tail, target, piece.reserved, team);
    }
    pairs = team.sum(pairs);
    if (rank == 0 && pairs != 0) atomic_integer{now.reached}.add(pairs);
  }

  /// Zeroes the words of the depth before, for places [begin, end) of its queue.
  LULL_HD void forget(std::uint64_t begin, std::uint64_t end, bfs_together_progress const& now,
                      auto const& team) const noexcept {
    std::uint32_t const* const vertex = on.queue(now.depth + 2).vertex;
    std::uint64_t* const reached = on.reached_at(now.depth + 2);
    for (std::uint64_t at = begin + static_cast<std::uint64_t>(team.rank()); at < end;
         at += static_cast<std::uint64_t>(team.size())) {
      reached[vertex[at]] = 0;
    }
  }

  /// The only item of its phase: up to `Levels` levels, as long as one fits into a piece.
  template <std::uint32_t Levels>
  LULL_HD void push_small(storage& shared, auto const& team) const noexcept {
    bfs_together_progress& now = shared.now;
    if (team.rank() == 0) now = *on.progress;
    team.sync();
    for (std::uint32_t level = 0; level < Levels; ++level) {
      push(0, shared, now, team);
      forget(0, now.before, now, team);
      team.sync();
      if (team.rank() == 0) now.push_ended();
      team.sync();
      if (!now.is_small(on.graph)) break;
    }
    if (team.rank() == 0) *on.progress = now;
  }

 private:
  static constexpr auto many = bfs_together_progress::many_slices;

  LULL_HD static std::uint64_t slice(std::uint32_t which) noexcept {
    constexpr std::uint32_t width = 64 / many;
    return ~std::uint64_t{0} >> (64 - width) << (which * width);
  }

  /// Makes labels of the targets less, for the wanted searches, one of each target at a time. `first`: the searches for
  /// which this thread found the target unreached, one thread of all.
  template <std::uint32_t Flight>
  LULL_HD void reach(std::uint32_t const (&parent)[Flight], queue_entry const (&target)[Flight],
                     std::uint64_t (&wanted)[Flight], std::uint64_t depth,
                     std::uint64_t (&first)[Flight]) const noexcept {
    constexpr std::uint32_t none = 64;
    bfs_together_labels const labels = on.group_labels();
    for (;;) {
      std::uint64_t any = 0;
      for (std::uint32_t i = 0; i < Flight; ++i) any |= wanted[i];
      if (any == 0) return;
      std::uint32_t search[Flight];
      for (std::uint32_t i = 0; i < Flight; ++i) {
        search[i] = wanted[i] != 0 ? lowest_of_word(wanted[i]) : none;
        wanted[i] &= wanted[i] - 1;
      }
      for (std::uint32_t i = 0; i < Flight; ++i) {
        if (search[i] == none) continue;
        std::uint64_t const seen = atomic_integer{labels.of(target[i].vertex, search[i])}.load();
        if (seen <= bfs_label::of(depth, parent[i])) search[i] = none;
      }
      for (std::uint32_t i = 0; i < Flight; ++i) {
        if (search[i] == none) continue;
        std::uint64_t const before =
            atomic_integer{labels.of(target[i].vertex, search[i])}.fetch_min(bfs_label::of(depth, parent[i]));
        if (before == bfs_label::unreached) first[i] |= std::uint64_t{1} << search[i];
      }
    }
  }

  /// Of a target that this thread was the first to reach in some searches: returns its edges, once for each of these;
  /// and gives the entry its edges if no other thread has been there at this depth.
  LULL_HD std::uint64_t put(queue_entry& target, std::uint64_t searches, bfs_together_progress& now) const noexcept {
    std::uint64_t const edges = on.degree(target.vertex);
    std::uint64_t const before = atomic_integer{on.reached_at(now.depth + 1)[target.vertex]}.fetch_add(searches);
    if (before == 0) target.edges = edges + 1;
    note_crowd(now.crowded, before | searches);
    return edges * ones_of_word(searches);
  }
};

}  // namespace lull::detail
