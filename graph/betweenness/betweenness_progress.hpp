// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/edge_queue.hpp>

namespace lull {

/// What a phase of betweenness centrality does.
enum class betweenness_phase : std::uint64_t {
  begin,  // no vertex is reached
  push,   // the vertices of the next level, over the edges that leave this one
  count,  // how many shortest paths lead to each of them, over the edges that enter it; then over parts of long rows
  back,   // what depends on each vertex of a level, over the edges that leave it; then over parts of long rows
  clean,  // the lists are overwritten
  end
};

/// What the sources' phases go by. All are counts that do not depend on the order in which teams came.
struct betweenness_graph {
  std::uint64_t long_rows;  // room for those of several parts
  std::uint32_t vertices;
  std::uint32_t sources;
};

/// Where the sources of a job stand. One team writes it between two phases, but for the tails.
struct betweenness_progress {
  using element = std::uint64_t;  // all that it is made of

  betweenness_phase phase;
  std::uint64_t source;    // its number
  std::uint64_t depth;     // push: of the level whose edges are pushed; count and back: of that whose rows are added up
  std::uint64_t stage;     // count and back: how often the rows have become rows of their parts' sums
  queue_range range;       // the phase's items, in the queue that it is about
  std::uint64_t out_tail;  // where the levels end
  std::uint64_t in_tail;   // where the vertices end that push has reached
  std::uint64_t long_tail;  // where the long rows of the stage end
  std::uint64_t reached;    // vertices, of all sources together, these among them
  std::uint64_t levels;     // the greatest depth of each source, added up

  /// After `begin`, with what was put into the levels' queue.
  LULL_HD void begin_at_source(queue_mark first, std::uint64_t* level_begins, betweenness_graph const& graph) noexcept {
    depth = 0;
    stage = 0;
    in_tail = 0;
    long_tail = 0;
    out_tail = first.word;
    reached += 1;
    level_begins[0] = 0;
    push_or_turn(queue_range{{}, first}, level_begins, graph);
  }

  LULL_HD void push_ended(std::uint64_t* level_begins, betweenness_graph const& graph) noexcept {
    queue_mark const found{in_tail};
    if (found.vertices() == 0) return turn_back(level_begins, graph);
    depth += 1;
    reached += found.vertices();
    level_begins[depth] = range.end.word;
    phase = betweenness_phase::count;
    range = {{}, found};
    in_tail = 0;
  }

  LULL_HD void count_ended(std::uint64_t* level_begins, betweenness_graph const& graph) noexcept {
    if (next_stage()) return;
    push_or_turn(queue_range{{level_begins[depth]}, {out_tail}}, level_begins, graph);
  }

  LULL_HD void back_ended(std::uint64_t const* level_begins, betweenness_graph const& graph) noexcept {
    if (next_stage()) return;
    depth -= 1;
    go_back(level_begins, graph);
  }

 private:
  /// Whether some rows have become rows of their parts' sums.
  LULL_HD bool next_stage() noexcept {
    range = {{}, {long_tail}};
    stage = long_tail != 0 ? stage + 1 : 0;
    long_tail = 0;
    return stage != 0;
  }

  LULL_HD void push_or_turn(queue_range level, std::uint64_t* level_begins, betweenness_graph const& graph) noexcept {
    phase = betweenness_phase::push;
    range = level;
    if (level.edges() == 0) turn_back(level_begins, graph);
  }

  /// From the deepest level.
  LULL_HD void turn_back(std::uint64_t* level_begins, betweenness_graph const& graph) noexcept {
    levels += depth;
    level_begins[depth + 1] = out_tail;
    if (level_begins[depth] == out_tail) depth -= depth != 0 ? 1 : 0;  // no edge leaves it
    go_back(level_begins, graph);
  }

  /// To the level of `depth`. Nothing of the source's own is asked for.
  LULL_HD void go_back(std::uint64_t const* level_begins, betweenness_graph const& graph) noexcept {
    phase = betweenness_phase::back;
    if (depth == 0) return end_source(graph);
    range = {{level_begins[depth]}, {level_begins[depth + 1]}};
  }

  LULL_HD void end_source(betweenness_graph const& graph) noexcept {
    source += 1;
    phase = source < graph.sources ? betweenness_phase::begin : betweenness_phase::clean;
  }
};

}  // namespace lull
