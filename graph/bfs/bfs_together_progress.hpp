// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/edge_queue.hpp>

namespace lull {

/// What a phase of searches at once does.
enum class bfs_together_phase : std::uint64_t {
  begin,    // nothing is reached by the group's searches
  small,    // push a level or a few, each of which fits into one item
  push,     // push a level
  mark,     // what was reached is seen; the vertices that a search has not reached, to the queue
  pull,     // pull a level
  collect,  // the frontier, to the queue
  clean,    // the queues are overwritten
  end
};

/// What the searches decide by. All are counts that do not depend on the order in which teams came.
struct bfs_together_graph {
  std::uint64_t edges;
  std::uint32_t vertices;
  std::uint32_t searches;  // of all groups
  std::uint32_t at_once;   // searches of a group; the last may have fewer
  std::uint32_t piece;     // edges and vertices of an item
};

/// Where the searches of a job stand. One team writes it between two phases, and in `small`; items of the others change
/// `tail`, `reached` and `crowded`.
///
/// A frontier is that of all searches of the group: a vertex is in it if one of them has reached it at this depth. What
/// a push costs is `pairs`: the frontier's edges, each as often as searches go through it. A pull costs the edges that
/// enter the vertices which some search has not reached, each once.
struct bfs_together_progress {
  using element = std::uint64_t;                      // all that it is made of
  static constexpr std::uint64_t alpha = 3;           // to pull, where the pairs are more than 1 / alpha of all edges
  static constexpr std::uint64_t beta = 6;            // to go on so, where they are more than 1 / beta of those pulled
  static constexpr std::uint32_t crowd = 8;           // searches of one vertex that are many
  static constexpr std::uint64_t crowd_of_level = 4;  // … of a level's edges, on average
  static constexpr std::uint32_t many_slices = 8;     // in which a crowded level is pushed

  bfs_together_phase phase;
  std::uint64_t group;
  std::uint64_t depth;     // of the frontier
  std::uint64_t frontier;  // end of the frontier's queue, whose edges count a vertex as one; in `pull`, that of the
                           // vertices that some search has not reached
  std::uint64_t before;    // vertices of the depth before, whose words are not yet zero
  std::uint64_t tail;      // end of the queue that a phase appends to
  std::uint64_t pairs;     // edges that leave the frontier, once for each search
  std::uint64_t reached;   // … that leave what the level has reached so far
  std::uint64_t crowded;   // 1: of that a vertex is reached by more than `crowd` searches
  std::uint64_t slices;    // parts of the searches that a pushed level is split into: 1 or `many_slices`
  std::uint64_t used;      // places of the queues, at most in any level
  std::uint64_t pushed;    // levels, of all groups
  std::uint64_t pulled;

  LULL_HD queue_range range() const noexcept { return {{}, {frontier}}; }

  /// After the sources were reached.
  LULL_HD void begin_ended(bfs_together_graph const& graph) noexcept {
    take_frontier();
    choose(graph, true);
  }

  /// After a level was pushed: the frontier is what was appended.
  LULL_HD void push_ended() noexcept {
    depth += 1;
    pushed += 1;
    before = queue_mark{frontier}.vertices();
    take_frontier();
  }

  /// Whether the frontier is for one item.
  LULL_HD bool is_small(bfs_together_graph const& graph) const noexcept {
    return pairs != 0 && slices == 1 && queue_mark{frontier}.edges() <= graph.piece && before <= graph.piece;
  }

  /// After the queue has got a frontier.
  LULL_HD void choose(bfs_together_graph const& graph, bool may_pull) noexcept {
    if (pairs == 0) {
      end_group(graph);
    } else if (is_small(graph)) {
      phase = bfs_together_phase::small;
    } else if (may_pull && pairs * alpha > graph.edges) {
      phase = bfs_together_phase::mark;
    } else {
      phase = bfs_together_phase::push;
    }
  }

  LULL_HD void mark_ended(bfs_together_graph const& graph) noexcept {
    before = 0;
    reached = 0;
    take_queue();
    phase = bfs_together_phase::pull;
    if (queue_mark{frontier}.edges() == 0) end_group(graph);
  }

  LULL_HD void pull_ended(bfs_together_graph const& graph) noexcept {
    depth += 1;
    pulled += 1;
    pairs = reached;
    if (pairs == 0) {
      end_group(graph);
    } else if (pairs * beta > queue_mark{frontier}.edges()) {
      phase = bfs_together_phase::mark;
    } else {
      phase = bfs_together_phase::collect;
    }
  }

  LULL_HD void collect_ended(bfs_together_graph const& graph) noexcept {
    before = 0;
    take_frontier();       // `reached` is still what the pull has made it
    choose(graph, false);  // or the frontier could go from one form to the other each level
  }

 private:
  LULL_HD void take_queue() noexcept {
    frontier = tail;
    tail = 0;
    if (queue_mark{frontier}.vertices() > used) used = queue_mark{frontier}.vertices();
  }

  LULL_HD void take_frontier() noexcept {
    take_queue();
    pairs = reached;
    reached = 0;
    std::uint64_t const edges = queue_mark{frontier}.edges() - queue_mark{frontier}.vertices();
    slices = crowded != 0 || pairs > crowd_of_level * edges ? many_slices : 1;
    crowded = 0;
  }

  LULL_HD void end_group(bfs_together_graph const& graph) noexcept {
    group += 1;
    depth = 0;
    before = 0;
    reached = 0;
    phase = group * graph.at_once < graph.searches ? bfs_together_phase::begin : bfs_together_phase::clean;
  }
};

}  // namespace lull
