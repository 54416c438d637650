// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/device/side_task.hpp>
#include <lull/graph/betweenness/betweenness_push.hpp>
#include <lull/graph/betweenness/betweenness_rows.hpp>
#include <lull/graph/betweenness/betweenness_state.hpp>
#include <lull/graph/betweenness/row_sums.hpp>
#include <lull/graph/sweep.hpp>

namespace lull {

/// Betweenness centrality from some sources, one after the other: how much of the shortest paths from these lies on
/// each vertex. To a vertex v the source s adds
///   δ(v) = Σ over t of (shortest paths from s to t over v) / (shortest paths from s to t), v being neither end,
/// so that all vertices as sources give the betweenness of the definition, over ordered pairs and not normalised. From
/// a sample of k of n vertices, n / k times the result estimates it. Edges have a direction; duplicates are paths of
/// their own, and self-loops are on none.
///
/// A source goes down level by level and back:
///   push   an item is `Piece` edges that leave the level, which is a queue with the running sum of its edges. The
///          thread that finds a target unreached, one alone, appends it to the next level.
///   count  an item is the parts of rows that begin among `Piece` edges that enter the next level: shortest paths are
///          added up over the vertices before.
///   back   the same over edges that leave a level, from the deepest up: what depends on a vertex.
/// A row of 2 × `part` or more edges has several parts; their sums are rows of a further phase, and so on: a hub of
/// ten million edges takes four. So items are bounded whatever the graph. A phase of one item goes on with the next
/// such one, two in all.
///
/// Results do not depend on timing, though the queues' order does. Depths are those of a breadth-first search. Each sum
/// is taken in an order that follows from a vertex's row, as row_parts says, and sources are added up in their order:
/// so totals are equal bit for bit whatever the grain, the grid, the team's size and the preemption. Counts of paths
/// have an exponent of their own (wide_number). At the end `clean` overwrites the queues. No item calls `leaving()`, so
/// each is done once.
///
/// `Threads` of a team on a GPU, and `BlocksPerSm` of them on an SM, as in team_shape.
///
/// Sources: Brandes, "A faster algorithm for betweenness centrality", Journal of Mathematical Sociology 25, 2001;
/// Brandes, Pich, "Centrality estimation in large networks", International Journal of Bifurcation and Chaos 17, 2007
/// (sampled sources); Beamer, Asanović, Patterson, "The GAP benchmark suite", 2015 (the kernel, from four sources).
template <std::uint32_t Piece, std::uint32_t PartBits, int Threads = 256, int BlocksPerSm = 0>
struct basic_betweenness {
  static constexpr std::uint32_t piece = Piece;
  static constexpr std::uint32_t part = 1U << PartBits;
  static constexpr std::uint32_t small_phases = 2;  // of an item, at most

  /// Of a team.
  struct storage {
    union {
      detail::betweenness_push_storage<Piece> push;
      detail::row_sums_storage<Piece, part> sums;
    };
    queue_mark reserved;
    betweenness_progress now;  // where one team does phases by itself: nearer than the machine's memory
    bool goes_on;
  };

  static constexpr team_shape shape{
      .threads = Threads, .steps = 1, .shared_bytes = sizeof(storage), .blocks_per_sm = BlocksPerSm};

  betweenness_state on;

  LULL_HD std::uint64_t extent(position, std::uint64_t) const noexcept { return items(*on.progress); }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    betweenness_phase const phase = on.progress->phase;
    auto& shared = *static_cast<storage*>(team.shared());
    for (std::uint64_t item = c.begin; item < c.end; ++item) {
      if (phase == betweenness_phase::begin) {
        begin(item, team);
      } else if (phase == betweenness_phase::clean) {
        clean(item, team);
      } else {
        walk_on(shared, item, team);
      }
      team.sync();  // before the team's storage is used again
    }
  }

  LULL_HD void advance(position, auto const& team) const noexcept {
    if (team.rank() != 0) return;
    betweenness_progress& now = *on.progress;
    if (now.phase == betweenness_phase::begin) {
      begin_at_source(now);
    } else if (now.phase == betweenness_phase::clean) {
      now.phase = betweenness_phase::end;
    } else {
      ended(now);
    }
  }

 private:
  static constexpr std::uint32_t swept = 4 * Threads;  // vertices of an item of begin, and of clean

  LULL_HD static bool walks(betweenness_phase phase) noexcept {
    return phase == betweenness_phase::push || phase == betweenness_phase::count || phase == betweenness_phase::back;
  }

  LULL_HD std::uint64_t items(betweenness_progress const& now) const noexcept {
    if (walks(now.phase)) return detail::parts(now.range.edges(), Piece);
    if (now.phase == betweenness_phase::begin) return detail::parts(on.graph.vertices, swept);
    if (now.phase != betweenness_phase::clean) return finished;
    std::uint64_t const longs = on.graph.long_rows;
    return detail::parts(on.graph.vertices > longs ? on.graph.vertices : longs, swept);
  }

  LULL_HD void ended(betweenness_progress& now) const noexcept {
    if (now.phase == betweenness_phase::push) {
      now.push_ended(on.level_begins, on.graph);
    } else if (now.phase == betweenness_phase::count) {
      now.count_ended(on.level_begins, on.graph);
    } else {
      now.back_ended(on.level_begins, on.graph);
    }
  }

  LULL_HD void begin(std::uint64_t item, auto const& team) const noexcept {
    bool const is_first = on.progress->source == 0;
    detail::for_each_of<swept>(item, on.graph.vertices, team, [=, *this](std::uint64_t vertex) {
      on.depths[vertex] = betweenness_depth::unreached;
      if (is_first) on.totals[vertex] = 0;
    });
  }
  LULL_HD void clean(std::uint64_t item, auto const& team) const noexcept {
    detail::for_each_of<swept>(item, on.graph.vertices, team, [*this](std::uint64_t at) {
      empty(on.levels, at);
      empty(on.next, at);
    });
    detail::for_each_of<swept>(item, on.graph.long_rows, team, [*this](std::uint64_t at) {
      empty(on.long_rows[0], at);
      empty(on.long_rows[1], at);
    });
  }
  LULL_HD static void empty(edge_queue const& queue, std::uint64_t at) noexcept {
    queue.vertex[at] = 0;
    queue.first_edge[at] = 0;
  }

  /// One thread: the first level.
  LULL_HD void begin_at_source(betweenness_progress& now) const noexcept {
    std::uint32_t const source = on.sources[now.source];
    std::uint64_t const edges = on.out.degree(source);
    on.depths[source] = 0;
    on.values[source] = wide_number::of(1);
    if (edges != 0) {
      on.levels.vertex[0] = source;
      on.levels.first_edge[0] = 0;
    }
    now.begin_at_source(edges != 0 ? queue_mark::of(1, edges) : queue_mark{}, on.level_begins, on.graph);
  }

  /// Collective. An item of a level.
  LULL_HD void walk(storage& shared, betweenness_progress& now, std::uint64_t item, auto const& team) const noexcept {
    if (now.phase == betweenness_phase::push) return detail::push_piece(on, shared.push, now, item, team);
    bool const goes_back = now.phase == betweenness_phase::back;
    auto const stage = static_cast<std::uint32_t>(now.stage);
    auto const depth = static_cast<std::uint32_t>(now.depth);
    std::uint32_t const turn = stage % 2;
    edge_queue const& from = stage != 0 ? on.long_rows[1 - turn] : goes_back ? on.levels : on.next;
    detail::betweenness_rows<PartBits> const rows{on, goes_back, goes_back ? depth + 1 : depth - 1, stage};
    detail::long_rows const longs{on.long_rows[turn], now.long_tail, on.part_sums[turn]};
    detail::sum_rows(rows, from, now.range, item, shared.sums, longs, shared.reserved, team);
  }

  /// Collective. An item of a level; the only one of its phase goes on with the phases after it, as long as these have
  /// one item, too.
  LULL_HD void walk_on(storage& shared, std::uint64_t item, auto const& team) const noexcept {
    bool const is_only = items(*on.progress) == 1;
    betweenness_progress& now = is_only ? shared.now : *on.progress;
    if (is_only) {
      if (team.rank() == 0) shared.now = *on.progress;
      team.sync();
    }
    for (std::uint32_t done = 1;; ++done) {
      walk(shared, now, item, team);
      if (!is_only) return;
      team.sync();
      if (done == small_phases) break;
      if (team.rank() == 0) {
        betweenness_progress after = shared.now;
        ended(after);
        shared.goes_on = walks(after.phase) && items(after) == 1;
        if (shared.goes_on) shared.now = after;
      }
      team.sync();
      if (!shared.goes_on) break;
    }
    if (team.rank() == 0) *on.progress = shared.now;
  }
};

using betweenness = basic_betweenness<256, 6, 256, 4>;

static_assert(is_side_task<betweenness>() && has_advance<betweenness>);

}  // namespace lull
