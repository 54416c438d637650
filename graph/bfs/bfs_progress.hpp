// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/edge_queue.hpp>

namespace lull {

/// What a phase of a breadth-first search does.
enum class bfs_phase : std::uint64_t {
  begin,    // no vertex is reached
  small,    // push a level or a few, all edges of which fit into one item
  push,     // push a level
  mark,     // the frontier and what is not reached, as bitmaps
  pull,     // pull a level, a few edges of each vertex
  rest,     // … the other edges of vertices that have more
  collect,  // the frontier, from the bitmap to the queue
  clean,    // the queue is overwritten
  end
};

/// What a search decides by. All are counts that do not depend on the order in which teams came.
struct bfs_graph {
  std::uint64_t edges;
  std::uint32_t vertices;
  std::uint32_t searches;
  std::uint32_t piece;  // edges of an item
};

/// Where the searches of a job stand. One team writes it between two phases, but for `tail` and `found`.
///
/// When a level is pushed and when pulled: Beamer, Asanović, Patterson, "Direction-optimizing breadth-first search", SC
/// 2012, section 5. To pull, where the frontier's edges are more than 1 / alpha of those not looked at; to push again,
/// where the frontier shrinks and has fewer than 1 / beta of the vertices.
struct bfs_progress {
  using element = std::uint64_t;  // all that it is made of
  static constexpr std::uint64_t alpha = 15;
  static constexpr std::uint64_t beta = 18;

  bfs_phase phase;
  std::uint64_t search;    // the number of the source
  std::uint64_t depth;     // of the frontier
  queue_range range;       // of the queue: the frontier; in `rest`, the vertices that have more edges
  std::uint64_t tail;      // where the queue ends; phases that append move it
  std::uint64_t kept;      // where it ended before a pull
  std::uint64_t frontier;  // vertices of a frontier that is a bitmap
  std::uint64_t found;     // vertices that the level has reached so far, in pull and rest
  std::uint64_t turned;    // 1: the frontier is the second bitmap
  std::uint64_t queued;    // vertices that have been in the queue, in any search
  std::uint64_t pushed;    // levels, of all searches
  std::uint64_t pulled;

  /// After a level was pushed: the frontier is what was appended.
  LULL_HD void push_ended() noexcept {
    depth += 1;
    pushed += 1;
    range = {range.end, {tail}};
  }

  /// After the queue has got a frontier.
  LULL_HD void choose(bfs_graph const& graph, bool may_pull) noexcept {
    if (range.edges() == 0) {
      end_search(graph);
    } else if (range.edges() <= graph.piece) {
      phase = bfs_phase::small;
    } else if (may_pull && range.edges() * alpha > graph.edges - range.begin.edges()) {
      phase = bfs_phase::mark;
    } else {
      phase = bfs_phase::push;
    }
  }

  LULL_HD void begin_pulling() noexcept {
    kept = tail;
    frontier = range.vertices();
    begin_pull();
  }

  LULL_HD void begin_pull() noexcept {
    phase = bfs_phase::pull;
    tail = before_rest().word;  // the room after what was in the queue is free
    found = 0;
  }

  LULL_HD void pull_ended(bfs_graph const& graph) noexcept {
    range = {before_rest(), {tail}};
    if (range.edges() != 0) {
      phase = bfs_phase::rest;
    } else {
      level_pulled(graph);
    }
  }

  LULL_HD void level_pulled(bfs_graph const& graph) noexcept {
    std::uint64_t const before = frontier;
    if (queue_mark{tail}.vertices() > queued) queued = queue_mark{tail}.vertices();
    depth += 1;
    pulled += 1;
    frontier = found;
    turned = 1 - turned;
    if (found == 0) {
      tail = kept;
      end_search(graph);
    } else if (found >= before || found > graph.vertices / beta) {
      begin_pull();
    } else {
      tail = kept;
      phase = bfs_phase::collect;
    }
  }

  LULL_HD void collect_ended(bfs_graph const& graph) noexcept {
    range = {{kept}, {tail}};
    choose(graph, false);  // or the frontier could go from one form to the other each level
  }

  LULL_HD void end_search(bfs_graph const& graph) noexcept {
    if (queue_mark{tail}.vertices() > queued) queued = queue_mark{tail}.vertices();
    search += 1;
    phase = search < graph.searches ? bfs_phase::begin : queued != 0 ? bfs_phase::clean : bfs_phase::end;
  }

 private:
  LULL_HD queue_mark before_rest() const noexcept { return queue_mark::of(queue_mark{kept}.vertices(), 0); }
};

}  // namespace lull
