// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/edge_queue.hpp>

namespace lull {

/// What a phase of a core decomposition does.
enum class kcore_phase : std::uint64_t {
  begin,  // each vertex has all of its neighbours
  scan,   // the vertices that a level begins with, among those that are left
  peel,   // a wave: the vertices of the frontier are taken from their neighbours
  small,  // waves and scans, each of which fits into one item
  clean,  // queue and lists are overwritten
  end
};

/// What a decomposition decides by, beside its progress.
struct kcore_graph {
  std::uint32_t vertices;
  std::uint32_t piece;    // edges of an item of peel
  std::uint32_t scanned;  // places of an item of scan
};

/// Where a decomposition stands. One team writes it between two phases, or in a phase of one item; but items of a phase
/// change `tail`, `next`, `kept` and `isolated`. None of it depends on the order in which teams came.
struct kcore_progress {
  using element = std::uint64_t;  // all that it is made of
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  kcore_phase phase;
  std::uint64_t level;     // vertices with so many neighbours left are taken out; at the end the largest core number
  std::uint64_t next;      // fewest neighbours left of a vertex that has more than that, as a scan saw it
  queue_range range;       // of the queue: the frontier
  std::uint64_t tail;      // where the queue ends: it holds all vertices that were taken out
  std::uint64_t isolated;  // vertices without edges, which never are in the queue
  std::uint64_t list;      // what a scan reads: 0: all vertices, 1 and 2: the first and the second list
  std::uint64_t length;    // … places of it
  std::uint64_t shortens;  // 1: the scan writes what is left into the other list
  std::uint64_t kept;      // … and so many places of that are written
  std::uint64_t levels;    // core numbers that occur, but 0
  std::uint64_t waves;

  /// Vertices that were not taken out yet.
  LULL_HD std::uint64_t left(kcore_graph const& graph) const noexcept {
    return graph.vertices - isolated - queue_mark{tail}.vertices();
  }

  LULL_HD void begin_ended(kcore_graph const& graph) noexcept {
    level = left(graph) != 0 ? 1 : 0;
    list = 0;
    length = graph.vertices;
    find_level(graph);
  }

  LULL_HD void scan_ended(kcore_graph const& graph) noexcept {
    if (shortens != 0) {
      list = other_list();
      length = kept;
      shortens = 0;
      kept = 0;
    }
    range = {range.end, {tail}};
    if (range.vertices() != 0) {
      levels += 1;
    } else {
      level = next;
    }
    choose(graph);
  }

  LULL_HD void wave_ended(kcore_graph const& graph) noexcept {
    waves += 1;
    range = {range.end, {tail}};
    if (range.vertices() == 0 && left(graph) != 0) level += 1;
    choose(graph);
  }

  /// After a phase that has found a frontier, or has found none. The same again if it is called again. The last
  /// vertices are not taken from each other: all are in the queue.
  LULL_HD void choose(kcore_graph const& graph) noexcept {
    if (left(graph) == 0 || range.vertices() == 0) {
      find_level(graph);
    } else {
      phase = range.edges() <= graph.piece ? kcore_phase::small : kcore_phase::peel;
    }
  }

  LULL_HD std::uint64_t other_list() const noexcept { return list == 1 ? 2 : 1; }

 private:
  /// A list is shortened when half of it or more was taken out. So a scan reads at most twice as many places as
  /// vertices were left a level before, and all scans together a few for each edge: a core number is no greater than a
  /// degree.
  LULL_HD void find_level(kcore_graph const& graph) noexcept {
    next = none;
    if (left(graph) == 0) {
      phase = kcore_phase::clean;
    } else if (length <= graph.scanned) {
      phase = kcore_phase::small;
    } else {
      phase = kcore_phase::scan;
      shortens = left(graph) * 2 <= length ? 1 : 0;
    }
  }
};

}  // namespace lull
