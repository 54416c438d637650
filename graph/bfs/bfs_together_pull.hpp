// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/device/atomic_integer.hpp>
#include <lull/graph/bfs/bfs_together_push.hpp>
#include <lull/graph/bfs/bfs_together_state.hpp>
#include <lull/graph/bfs/vertex_bitmap.hpp>
#include <lull/graph/bits.hpp>

namespace lull::detail {

/// The phases of searches at once that pull, for teams of up to `Width` threads. Calls are collective.
template <std::uint32_t Piece, std::uint32_t Width>
struct bfs_together_puller {
  static constexpr std::uint32_t swept = quad * Width;  // vertices of an item of mark, and of collect

  /// Team storage.
  struct storage {
    edge_piece<Piece> piece;
    std::uint64_t searches[Piece];  // (edges,) that come from the frontier by an edge; then, that it is the first for
    std::uint64_t wanted[Piece];    // (vertices,) that have not reached a vertex of the piece
    std::uint64_t gained[Piece];    // (vertices,) that have reached it now
    std::uint32_t source[Piece];    // (edges,)
    std::uint32_t listed[Piece];    // edges that are the first for a search, in any order, their vertices' places above
    std::uint32_t count;            // of those
  };

  bfs_together_state const& on;

  /// What was reached is seen. Vertices that edges enter and that a search has not reached go to the queue.
  LULL_HD void mark(std::uint64_t item, queue_mark& reserved, auto const& team) const noexcept {
    std::uint64_t const all = on.all_searches();
    std::uint64_t* const seen = on.seen();
    sweep(item, on.open_vertices(), reserved, team, [&](std::uint32_t vertex, std::uint64_t reached) {
      std::uint64_t const now = seen[vertex] | reached;
      if (reached != 0) seen[vertex] = now;
      return now != all ? on.in_offsets[vertex + 1ULL] - on.in_offsets[vertex] : 0;
    });
  }

  /// The frontier, from its words to the queue.
  LULL_HD void collect(std::uint64_t item, queue_mark& reserved, auto const& team) const noexcept {
    sweep(item, on.queue(on.progress->depth), reserved, team, [&](std::uint32_t vertex, std::uint64_t reached) {
      if (reached == 0) return std::uint64_t{0};
      note_crowd(on.progress->crowded, reached);
      return on.degree(vertex) + 1;
    });
  }

  /// A piece of the edges that enter those vertices. Of a row's edges in the piece, the lowest from the frontier is the
  /// first for each search: a scan over the threads says what the edges before theirs have. A row that goes on in
  /// another piece is that of the first or of the last vertex: there the least label counts, atomically.
  LULL_HD void pull(std::uint64_t item, storage& shared, auto const& team) const noexcept {
    edge_piece<Piece>& piece = shared.piece;
    bfs_together_progress const& now = *on.progress;
    auto const rank = static_cast<std::uint32_t>(team.rank());
    auto const size = static_cast<std::uint32_t>(team.size());
    auto const [count, owners] = on.open_vertices().load_item(
        piece, now.range(), item, [&](std::uint32_t vertex, std::uint32_t) { return on.in_offsets[vertex]; }, team);
    std::uint64_t const all = on.all_searches();
    if (rank == 0) shared.count = 0;
    for (std::uint32_t owner = rank; owner < owners; owner += size) {
      shared.wanted[owner] = all & ~on.seen()[piece.vertex[owner]];
      shared.gained[owner] = 0;
    }
    gather(shared, count, owners, team);
    team.sync();
    list_first(shared, count, owners, team);
    team.sync();
    write(shared, owners, team);
    team.sync();
    std::uint64_t* const reached = on.reached_at(now.depth + 1);
    std::uint64_t pairs = 0;
    for (std::uint32_t owner = rank; owner < owners; owner += size) {
      std::uint64_t const gained = shared.gained[owner];
      if (gained == 0) continue;
      std::uint32_t const vertex = piece.vertex[owner];
      atomic_integer{reached[vertex]}.add(gained);  // of a row that goes on, others add other bits
      pairs += on.degree(vertex) * ones_of_word(gained);
    }
    pairs = team.sum(pairs);
    if (rank == 0 && pairs != 0) atomic_integer{on.progress->reached}.add(pairs);
  }

 private:
  /// What a thread's edges have of the row that is open at their end.
  struct open_row {
    std::uint64_t searches = 0;
    std::uint64_t fresh = 0;  // 1: the row begins in them

    struct join {
      LULL_HD constexpr open_row operator()(open_row const& a, open_row const& b) const noexcept {
        return b.fresh != 0 ? b : open_row{a.searches | b.searches, a.fresh};
      }
    };
  };

  /// Visits vertices with what has reached them at this depth; those for which that returns edges go to the queue.
  /// Zeroes the words of the depth before.
  LULL_HD void sweep(std::uint64_t item, edge_queue const& to, queue_mark& reserved, auto const& team,
                     auto const& visit) const noexcept {
    std::uint64_t const depth = on.progress->depth;
    std::uint64_t const* const reached = on.reached_at(depth);
    std::uint64_t* const before = on.reached_at(depth + 2);
    auto const size = static_cast<std::uint32_t>(team.size());
    for (std::uint32_t at = 0; at < Width; at += size) {
      std::uint32_t const mine = at + static_cast<std::uint32_t>(team.rank());
      queue_entry entries[quad];
      for (std::uint32_t i = 0; i < quad; ++i) {
        std::uint64_t const vertex = item * swept + std::uint64_t{mine} * quad + i;
        if (mine >= Width || vertex >= on.graph.vertices) continue;
        if (before[vertex] != 0) before[vertex] = 0;
        entries[i].vertex = static_cast<std::uint32_t>(vertex);
        entries[i].edges = visit(entries[i].vertex, reached[vertex]);
      }
      to.append(on.progress->tail, entries, reserved, team);
    }
  }

  LULL_HD void gather(storage& shared, std::uint32_t count, std::uint32_t owners, auto const& team) const noexcept {
    constexpr std::uint32_t flight = 4;  // edges whose loads a thread has under way
    auto const size = static_cast<std::uint32_t>(team.size());
    std::uint64_t const* const frontier = on.reached_at(on.progress->depth);
    for (auto at = static_cast<std::uint32_t>(team.rank()); at < count; at += flight * size) {
      std::uint32_t source[flight]{};
      for (std::uint32_t i = 0; i < flight; ++i) {
        std::uint32_t const edge = at + i * size;
        if (edge < count) source[i] = on.in_sources[shared.piece.row[shared.piece.owner(edge, owners)] + edge];
      }
      for (std::uint32_t i = 0; i < flight; ++i) {
        std::uint32_t const edge = at + i * size;
        if (edge >= count) continue;
        shared.source[edge] = source[i];
        shared.searches[edge] = frontier[source[i]];
      }
    }
  }

  /// Goes through the thread's edges, which follow each other: visit(edge, place of its vertex, whether the row
  /// begins).
  LULL_HD void walk(storage const& shared, std::uint32_t begin, std::uint32_t end, std::uint32_t owners,
                    auto const& visit) const noexcept {
    if (begin >= end) return;
    std::uint32_t owner = shared.piece.owner(begin, owners);
    bool fresh = shared.piece.first[owner] == begin;
    for (std::uint32_t edge = begin; edge < end; ++edge) {
      if (owner + 1 < owners && shared.piece.first[owner + 1] == edge) {
        ++owner;
        fresh = true;
      }
      visit(edge, owner, fresh);
      fresh = false;
    }
  }

  /// Lists the edges that are the first of their row, in the piece, for a search that wants it.
  LULL_HD void list_first(storage& shared, std::uint32_t count, std::uint32_t owners, auto const& team) const noexcept {
    static_assert(Piece <= 1U << 16, "an edge and its vertex's place are one word");
    auto const size = static_cast<std::uint32_t>(team.size());
    std::uint32_t const each = (count + size - 1) / size;
    std::uint32_t const begin = static_cast<std::uint32_t>(team.rank()) * each;
    std::uint32_t const end = begin + each < count ? begin + each : count;
    open_row row;
    walk(shared, begin, end, owners, [&](std::uint32_t edge, std::uint32_t, bool fresh) {
      row = typename open_row::join{}(row, {shared.searches[edge], fresh ? 1U : 0U});
    });
    std::uint64_t before = team.exclusive_scan(row, open_row{}, typename open_row::join{}).searches;
    walk(shared, begin, end, owners, [&](std::uint32_t edge, std::uint32_t owner, bool fresh) {
      std::uint64_t const come = shared.searches[edge];
      std::uint64_t const first = come & shared.wanted[owner] & ~(fresh ? 0 : before);
      before = fresh ? come : before | come;
      if (first == 0) return;
      shared.searches[edge] = first;
      if (is_inner(owner, owners)) atomic_integer{shared.gained[owner]}.add(first);
      shared.listed[atomic_integer{shared.count}.fetch_add(1)] = owner << 16 | edge;
    });
  }

  /// The labels of listed edges, by a thread each search: those of one vertex lie in a row.
  LULL_HD void write(storage& shared, std::uint32_t owners, auto const& team) const noexcept {
    bfs_together_labels const labels = on.group_labels();
    std::uint32_t shift = 0;  // of the searches' number, rounded up to a power of two
    while (1U << shift < labels.searches) ++shift;
    std::uint64_t const depth = on.progress->depth + 1;
    std::uint32_t const all = shared.count << shift;
    for (auto at = static_cast<std::uint32_t>(team.rank()); at < all; at += static_cast<std::uint32_t>(team.size())) {
      std::uint32_t const edge = shared.listed[at >> shift] & 0xffff;
      std::uint32_t const owner = shared.listed[at >> shift] >> 16;
      std::uint32_t const search = at & ((1U << shift) - 1);
      if ((shared.searches[edge] >> search & 1) == 0) continue;
      std::uint64_t& label = labels.of(shared.piece.vertex[owner], search);
      std::uint64_t const made = bfs_label::of(depth, shared.source[edge]);
      if (is_inner(owner, owners)) {
        label = made;
        continue;
      }
      if (atomic_integer{label}.load() <= made) continue;
      if (atomic_integer{label}.fetch_min(made) != bfs_label::unreached) continue;
      atomic_integer{shared.gained[owner]}.add(std::uint64_t{1} << search);
    }
  }

  /// Whether all edges of a row are in the piece, whatever the others are.
  LULL_HD static bool is_inner(std::uint32_t owner, std::uint32_t owners) noexcept {
    return owner != 0 && owner != owners - 1;
  }
};

}  // namespace lull::detail
