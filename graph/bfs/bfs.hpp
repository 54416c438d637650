// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <lull/device/side_task.hpp>
#include <lull/graph/bfs/bfs_pull.hpp>
#include <lull/graph/bfs/bfs_push.hpp>
#include <lull/graph/bfs/bfs_state.hpp>
#include <lull/graph/sweep.hpp>

namespace lull {

/// Breadth-first searches, one after the other: depths, and of each vertex the lowest parent, which is the lowest
/// vertex of the depth before with an edge to it.
///
/// A level is pushed or pulled, as bfs_progress says. Levels are many where a graph is a mesh, so there are as few
/// phases a level as can be:
///   push     an item is `Piece` edges that leave the frontier, which is a queue with the running sum of its edges.
///            A target's label becomes the least of itself and (depth, source), atomically. The thread that finds it
///            unreached, one alone, appends the target to the queue: it is the next frontier, ready for the next push.
///   small    a level of up to `Piece` edges is one item, which goes on with the next such level.
///   mark     before the first of some levels that are pulled: two bitmaps, the frontier, and the vertices that are not
///            reached but that edges enter.
///   pull     an item is 4 × `Threads` vertices: of each one that is not reached the first `Probes` edges that enter,
///   from
///            the lowest source on, until one comes from the frontier. Vertices with more edges than that go to the
///            queue, for
///   rest     whose items are `Piece` of their other edges, as in push.
///   collect  after the last of some levels that are pulled: the frontier from the bitmap to the queue.
/// Each is bounded whatever the graph: an item is a fixed number of edges, or of vertices with a fixed number of edges
/// each. Vertices that no edge leaves never enter the queue.
///
/// Results do not depend on timing, though the queue's order does. No item calls `leaving()`, so each is done once. A
/// label is only ever made less; all that a phase writes into labels has the same depth, and the labels of that depth
/// that it meets mean the same to it as none: so the set of vertices that a level reaches, and the lowest parent of
/// each, do not depend on which item visits an edge, or when. In a pull, rows are sorted by source, so the first hit is
/// the lowest; for a row that goes on in `rest`, the least is taken atomically. Just one thread finds a label unreached
/// when it makes it less, so each vertex is appended, and counted, once. What decides about the next phase are the sums
/// of those counts, and of degrees. The queue alone keeps its order; nothing but items' borders comes of it, and
/// `clean` overwrites all of it with zeros at the end.
///
/// `Threads` of a team on a GPU, and `BlocksPerSm` of them on an SM, as in team_shape.
///
/// Source: Beamer, Asanović, Patterson, "Direction-optimizing breadth-first search", SC 2012, sections 3 to 5.
template <std::uint32_t Piece, std::uint32_t Probes, int Threads = 256, int BlocksPerSm = 0>
struct basic_bfs {
  static constexpr std::uint32_t piece = Piece;
  static constexpr std::uint32_t small_levels = 2;  // of an item of small, at most

  using puller = detail::bfs_puller<Piece, Probes, Threads>;

  /// Of a team, for one item.
  union storage {
    detail::push_storage<Piece> push;
    typename puller::mark_storage mark;
    typename puller::pull_storage pull;
    typename puller::rest_storage rest;
  };

  static constexpr team_shape shape{
      .threads = Threads, .steps = 1, .shared_bytes = sizeof(storage), .blocks_per_sm = BlocksPerSm};

  bfs_state on;

  LULL_HD std::uint64_t extent(position, std::uint64_t) const noexcept {
    bfs_progress const& now = *on.progress;
    switch (now.phase) {
      case bfs_phase::begin:
        return detail::parts(on.graph.vertices, swept);
      case bfs_phase::small:
        return 1;
      case bfs_phase::push:
      case bfs_phase::rest:
        return detail::parts(now.range.edges(), Piece);
      case bfs_phase::mark:
        return detail::parts(on.graph.vertices, puller::marked);
      case bfs_phase::pull:
        return detail::parts(on.graph.vertices, puller::pulled);
      case bfs_phase::collect:
        return detail::parts(on.graph.vertices, puller::collected);
      case bfs_phase::clean:
        return detail::parts(now.queued, swept);
      default:
        return finished;
    }
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    bfs_phase const phase = on.progress->phase;
    auto& shared = *static_cast<storage*>(team.shared());
    puller const bitmaps{on};
    for (std::uint64_t item = c.begin; item < c.end; ++item) {
      switch (phase) {
        case bfs_phase::begin:
          begin(item, team);
          break;
        case bfs_phase::small:
          detail::push_small<small_levels>(on, shared.push, team);
          break;
        case bfs_phase::push:
          detail::push_piece(on, shared.push.piece, on.progress->range, item, on.progress->depth, on.progress->tail,
                             team);
          break;
        case bfs_phase::mark:
          bitmaps.mark(item, shared.mark, team);
          break;
        case bfs_phase::pull:
          bitmaps.pull(item, shared.pull, team);
          break;
        case bfs_phase::rest:
          bitmaps.rest(item, shared.rest, team);
          break;
        case bfs_phase::collect:
          bitmaps.collect(item, shared.pull.reserved, team);
          break;
        default:
          clean(item, team);
      }
      team.sync();  // before the team's storage is used again
    }
  }

  LULL_HD void advance(position, auto const& team) const noexcept {
    if (team.rank() != 0) return;
    bfs_progress& now = *on.progress;
    switch (now.phase) {
      case bfs_phase::begin:
        begin_at(on.sources[now.search], now);
        return now.choose(on.graph, true);
      case bfs_phase::push:
        now.push_ended();
        return now.choose(on.graph, true);
      case bfs_phase::small:
        return now.choose(on.graph, true);
      case bfs_phase::mark:
        return now.begin_pulling();
      case bfs_phase::pull:
        return now.pull_ended(on.graph);
      case bfs_phase::rest:
        return now.level_pulled(on.graph);
      case bfs_phase::collect:
        return now.collect_ended(on.graph);
      default:
        now.phase = bfs_phase::end;
    }
  }

 private:
  static constexpr std::uint32_t swept = 16 * Threads;  // vertices of an item of begin, and of clean

  LULL_HD void begin(std::uint64_t item, auto const& team) const noexcept {
    std::uint64_t* const label = on.label();
    detail::for_each_of<swept>(item, on.graph.vertices, team,
                               [=](std::uint64_t vertex) { label[vertex] = bfs_label::unreached; });
  }
  LULL_HD void clean(std::uint64_t item, auto const& team) const noexcept {
    edge_queue const queue = on.queue;
    detail::for_each_of<swept>(item, on.progress->queued, team, [=](std::uint64_t at) {
      queue.vertex[at] = 0;
      queue.first_edge[at] = 0;
    });
  }

  /// One thread: the first frontier.
  LULL_HD void begin_at(std::uint32_t source, bfs_progress& now) const noexcept {
    on.label()[source] = bfs_label::of(0, source);
    std::uint64_t const edges = on.degree(source);
    if (edges != 0) {
      on.queue.vertex[0] = source;
      on.queue.first_edge[0] = 0;
    }
    now.depth = 0;
    now.tail = queue_mark::of(edges != 0 ? 1 : 0, edges).word;
    now.range = {{}, {now.tail}};
  }
};

using bfs = basic_bfs<512, 16, 256, 4>;

static_assert(is_side_task<bfs>() && has_advance<bfs>);

}  // namespace lull
