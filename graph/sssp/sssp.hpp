// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <lull/device/side_task.hpp>
#include <lull/graph/sssp/sssp_push.hpp>
#include <lull/graph/sssp/sssp_state.hpp>
#include <lull/graph/sweep.hpp>

namespace lull {

/// Shortest paths from one vertex after the other: the distance of each vertex, and its parent, which is the lowest
/// vertex before it on a shortest path of the fewest edges. So edges of weight 0 make no cycle of parents.
///
/// Distances come first, in buckets of `delta`. A wave relaxes the edges that leave the frontier: it makes distances
/// less, puts vertices that are now nearer than the bucket's end into the next frontier, and others on the list of
/// those that are far. Where the frontier is empty, the next bucket begins at the nearest of these. Then a tree is
/// grown over the edges that shortest paths take, level by level of hops, as in a breadth-first search.
///
/// Items are bounded whatever the graph: `Piece` edges of a frontier, which is a queue with the running sum of its
/// edges, or 4 × `Threads` far vertices. Waves and levels of up to `Piece` edges are one item each, which goes on with
/// the next such one.
///
/// Results do not depend on timing, nor on delta, though frontiers, waves and buckets do. A distance is only ever made
/// less, to the length of a path, and at the end no edge makes one less: there is just one such set of distances, for
/// a float's sum never falls where the shorter path to it grows. A vertex that is made nearer is put on a list, by one
/// thread, unless it stands there already for the same wave or bucket; so none is left out, and no list is longer than
/// the graph has vertices. The tree is found as depths and lowest parents of a breadth-first search are. At the end
/// `clean` overwrites lists, marks and counts. No item calls `leaving()`, so each is done once.
///
/// `Threads` of a team on a GPU, and `BlocksPerSm` of them on an SM, as in team_shape.
///
/// Sources: Meyer, Sanders, "Delta-stepping: a parallelizable shortest path algorithm", Journal of Algorithms 49, 2003;
/// Davidson, Baxter, Garland, Owens, "Work-efficient parallel GPU methods for single-source shortest paths", IPDPS
/// 2014 (two lists, near and far, instead of many buckets).
template <std::uint32_t Piece, int Threads = 256, int BlocksPerSm = 0>
struct basic_sssp {
  static constexpr std::uint32_t piece = Piece;
  static constexpr std::uint32_t small_waves = 2;  // of an item, at most
  static constexpr std::uint32_t collected = 4 * Threads;

  using storage = detail::sssp_storage<Piece>;

  static constexpr team_shape shape{
      .threads = Threads, .steps = 1, .shared_bytes = sizeof(storage), .blocks_per_sm = BlocksPerSm};

  sssp_state on;

  LULL_HD std::uint64_t extent(position, std::uint64_t) const noexcept {
    sssp_progress const& now = *on.progress;
    switch (now.phase) {
      case sssp_phase::begin:
        return detail::parts(on.graph.vertices, swept);
      case sssp_phase::clean:
        return detail::parts(to_clean(), swept);
      case sssp_phase::relax:
      case sssp_phase::tree:
        return detail::parts(now.range.edges(), Piece);
      case sssp_phase::collect:
        return detail::parts(now.far, collected);
      default:
        return finished;
    }
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    sssp_phase const phase = on.progress->phase;
    auto& shared = *static_cast<storage*>(team.shared());
    for (std::uint64_t item = c.begin; item < c.end; ++item) {
      switch (phase) {
        case sssp_phase::begin:
          begin(item, team);
          break;
        case sssp_phase::relax:
          push<detail::sssp_relaxing, &sssp_progress::wave_ended>(item, shared, team);
          break;
        case sssp_phase::collect:
          detail::collect_far<collected>(on, shared, item, team);
          break;
        case sssp_phase::tree:
          push<detail::sssp_growing, &sssp_progress::level_ended>(item, shared, team);
          break;
        default:
          clean(item, team);
      }
      team.sync();  // before the team's storage is used again
    }
  }

  LULL_HD void advance(position, auto const& team) const noexcept {
    if (team.rank() != 0) return;
    sssp_progress& now = *on.progress;
    switch (now.phase) {
      case sssp_phase::begin:
        begin_at_source(now);
        return next_wave(now);
      case sssp_phase::relax:
        now.wave_ended();
        return next_wave(now);
      case sssp_phase::collect:
        now.collect_ended();
        return next_wave(now);
      case sssp_phase::tree:
        now.level_ended();
        if (now.range.edges() == 0) now.end_search(on.graph);
        return;
      default:
        now.end();
    }
  }

 private:
  static constexpr std::uint32_t swept = 4 * Threads;  // vertices of an item of begin, and of clean

  LULL_HD void begin(std::uint64_t item, auto const& team) const noexcept {
    std::uint32_t* const distance = on.distance(on.progress->search);
    std::uint64_t* const label = on.label(on.progress->search);
    detail::for_each_of<swept>(item, on.graph.vertices, team, [=, *this](std::uint64_t vertex) {
      distance[vertex] = sssp_distance::unreached;
      label[vertex] = sssp_label::unreached;
      on.waved[vertex] = 0;
      on.put_far[vertex] = 0;
    });
  }
  LULL_HD std::uint64_t to_clean() const noexcept {
    return on.graph.vertices > on.starts ? on.graph.vertices : on.starts;
  }
  LULL_HD void clean(std::uint64_t item, auto const& team) const noexcept {
    detail::for_each_of<swept>(item, to_clean(), team, [*this](std::uint64_t vertex) {
      for (edge_queue const& queue : on.frontiers) {
        if (vertex < on.starts) queue.start[vertex] = 0;
      }
      if (vertex >= on.graph.vertices) return;
      for (edge_queue const& queue : on.frontiers) {
        queue.vertex[vertex] = 0;
        queue.first_edge[vertex] = 0;
      }
      for (std::uint32_t* const list : on.far) list[vertex] = 0;
      on.waved[vertex] = 0;
      on.put_far[vertex] = 0;
    });
  }

  /// An item of a wave or level; the only one of it goes on with the next, as long as that is small, too.
  template <class Way, void (sssp_progress::*Ended)() noexcept>
  LULL_HD void push(std::uint64_t item, storage& shared, auto const& team) const noexcept {
    if (on.progress->range.edges() > Piece) return detail::push_piece<Way>(on, shared, *on.progress, item, team);
    sssp_progress& now = shared.now;
    if (team.rank() == 0) now = *on.progress;
    team.sync();
    for (std::uint32_t done = 1;; ++done) {
      detail::push_piece<Way>(on, shared, now, 0, team);
      team.sync();
      std::uint64_t const edges = queue_mark{now.tail}.edges();
      if (done == small_waves || edges == 0 || edges > Piece) break;
      team.sync();  // all have read it
      if (team.rank() == 0) (now.*Ended)();
      team.sync();
    }
    if (team.rank() == 0) *on.progress = now;
  }

  LULL_HD queue_mark put_source_first(std::uint64_t search) const noexcept {
    std::uint32_t const source = on.sources[search];
    std::uint64_t const edges = on.degree(source);
    if (edges == 0) return {};
    on.frontiers[0].vertex[0] = source;
    on.frontiers[0].first_edge[0] = 0;
    return queue_mark::of(1, edges);
  }

  LULL_HD void begin_at_source(sssp_progress& now) const noexcept {
    std::uint32_t const source = on.sources[now.search];
    on.distance(now.search)[source] = 0;
    on.label(now.search)[source] = sssp_label::of(0, source);
    now.begin_at_source(on.graph, put_source_first(now.search));
  }

  LULL_HD void next_wave(sssp_progress& now) const noexcept {
    if (now.range.edges() != 0) return;
    if (now.far_tail != 0) return now.begin_collect(on.graph);
    now.begin_with(put_source_first(now.search));
    now.phase = sssp_phase::tree;
    if (now.range.edges() == 0) now.end_search(on.graph);
  }
};

using sssp = basic_sssp<1024, 256, 4>;

static_assert(is_side_task<sssp>() && has_advance<sssp>);

}  // namespace lull
