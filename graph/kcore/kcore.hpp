// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/device/atomic_integer.hpp>
#include <lull/device/side_task.hpp>
#include <lull/graph/kcore/kcore_peel.hpp>
#include <lull/graph/kcore/kcore_state.hpp>
#include <lull/graph/sweep.hpp>

namespace lull {

/// The core number of each vertex of a simple undirected graph: the greatest k such that the vertex is in a subgraph
/// whose vertices all have k neighbours in it, at least.
///
/// Level by level, vertices are taken out that have as many neighbours left as the level says; their neighbours have
/// one less then, and may follow in the next wave of the level. Levels, and waves in them, are many and mostly small,
/// so there are as few phases as can be:
///   scan     an item is `4 × Threads` places of the list of what is left. It appends what the level begins with to a
///            queue with the running sum of edges, and finds the fewest neighbours that another vertex has left, which
///            is the next level where this one is empty. Where half of the list was taken out, the same phase writes
///            what is left into another list.
///   peel     an item is `Piece` edges that leave the frontier, as in bfs. It counts equal targets first, in the team's
///            storage, so a hub that all edges lead to is changed once an item.
///   small    where a wave has up to `Piece` edges, or the list one item's places, one team does it, and the next such
///            step, too.
/// Each is bounded whatever the graph: an item is a fixed number of edges, or of vertices.
///
/// Results do not depend on timing, though the order of queue and lists does. No item calls `leaving()`, so each is
/// done once. How many neighbours of a vertex are left when a wave is over is a sum, and ends at the level at the
/// least. Just one thread takes it there, and that one appends the vertex: so the vertices of a wave, their number and
/// that of their edges do not depend on which item visits an edge, or when. The same holds for a level's first wave and
/// for the next level, which is a minimum. What decides about the next phase are these numbers. Nothing but items'
/// borders comes of the order, and `clean` overwrites queue and lists with zeros at the end.
///
/// `Threads` of a team on a GPU, and `BlocksPerSm` of them on an SM, as in team_shape.
///
/// Sources: Seidman, "Network structure and minimum degree", Social Networks 5 (3), 1983 (cores); Dasari, Ranjan,
/// Zubair, "ParK: an efficient algorithm for k-core decomposition on multicore processors", Big Data 2014 (levels of a
/// scan and waves); Kabir, Madduri, "Parallel k-core decomposition on multicore platforms", IPDPSW 2017 (what was taken
/// too much is given back; a smaller graph where most vertices are out, here a list).
template <std::uint32_t Piece, int Threads = 256, int BlocksPerSm = 0>
struct basic_kcore {
  static constexpr std::uint32_t piece = Piece;
  static constexpr std::uint32_t scanned = 4 * Threads;  // places of an item of scan
  static constexpr std::uint32_t small_steps = 2;        // of an item of small, at most

  using peeler = detail::kcore_peeler<Piece, scanned>;

  static constexpr team_shape shape{
      .threads = Threads, .steps = 1, .shared_bytes = sizeof(typename peeler::storage), .blocks_per_sm = BlocksPerSm};

  kcore_state on;

  LULL_HD std::uint64_t extent(position, std::uint64_t) const noexcept {
    kcore_progress const& now = *on.progress;
    switch (now.phase) {
      case kcore_phase::begin:
      case kcore_phase::clean:
        return detail::parts(on.graph.vertices, swept);
      case kcore_phase::scan:
        return detail::parts(now.length, scanned);
      case kcore_phase::peel:
        return detail::parts(now.range.edges(), Piece);
      case kcore_phase::small:
        return 1;
      default:
        return finished;
    }
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    kcore_phase const phase = on.progress->phase;
    auto& space = *static_cast<typename peeler::storage*>(team.shared());
    peeler const cores{on};
    for (std::uint64_t item = c.begin; item < c.end; ++item) {
      switch (phase) {
        case kcore_phase::begin:
          begin(item, team);
          break;
        case kcore_phase::scan:
          cores.scan(item, *on.progress, space, team);
          break;
        case kcore_phase::peel:
          cores.peel(item, *on.progress, space, team);
          break;
        case kcore_phase::small:
          cores.template small<small_steps>(space, team);
          break;
        default:
          clean(item, team);
      }
      team.sync();  // before the team's storage is used again
    }
  }

  LULL_HD void advance(position, auto const& team) const noexcept {
    if (team.rank() != 0) return;
    kcore_progress& now = *on.progress;
    switch (now.phase) {
      case kcore_phase::begin:
        return now.begin_ended(on.graph);
      case kcore_phase::scan:
        return now.scan_ended(on.graph);
      case kcore_phase::peel:
        return now.wave_ended(on.graph);
      case kcore_phase::small:
        return now.choose(on.graph);
      default:
        now.phase = kcore_phase::end;
    }
  }

 private:
  static constexpr std::uint32_t swept = 4 * Threads;  // vertices of an item of begin, and of clean

  LULL_HD void begin(std::uint64_t item, auto const& team) const noexcept {
    std::uint32_t isolated = 0;
    detail::for_each_of<swept>(item, on.graph.vertices, team, [&](std::uint64_t vertex) {
      std::uint64_t const edges = on.degree(static_cast<std::uint32_t>(vertex));
      on.core[vertex] = static_cast<std::int32_t>(edges);
      if (edges == 0) ++isolated;
    });
    isolated = team.sum(isolated);
    if (team.rank() == 0 && isolated != 0) atomic_integer{on.progress->isolated}.add(isolated);
  }

  LULL_HD void clean(std::uint64_t item, auto const& team) const noexcept {
    detail::for_each_of<swept>(item, on.graph.vertices, team, [&](std::uint64_t at) {
      on.queue.vertex[at] = 0;
      on.queue.first_edge[at] = 0;
      for (int list = 0; list < 2; ++list) {
        if (at < kcore_state::list_places(on.graph.vertices, list)) on.lists[list][at] = 0;
      }
    });
  }
};

using kcore = basic_kcore<256, 256, 4>;

static_assert(is_side_task<kcore>() && has_advance<kcore>);

}  // namespace lull
