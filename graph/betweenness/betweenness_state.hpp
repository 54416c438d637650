// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/betweenness/betweenness_progress.hpp>
#include <lull/graph/betweenness/wide_number.hpp>
#include <lull/graph/edge_queue.hpp>

namespace lull {

/// How far vertices are from the source.
struct betweenness_depth {
  static constexpr std::uint32_t unreached = ~0U;
};

/// The rows of a graph: of each vertex the vertices at the other ends of its edges.
struct neighbour_lists {
  std::uint64_t const* offsets;     // (vertices + 1,)
  std::uint32_t const* neighbours;  // (edges,)

  LULL_HD std::uint64_t degree(std::uint32_t vertex) const noexcept { return offsets[vertex + 1ULL] - offsets[vertex]; }
};

/// What betweenness centrality works on, in a machine's memory; passed by value, owns nothing.
struct betweenness_state {
  neighbour_lists out;           // the graph
  neighbour_lists in;            // its transpose
  std::uint32_t const* sources;  // (sources,)
  std::uint32_t* depths;         // (vertices,)
  wide_number* values;           // (vertices,) of one that is reached: σ, its shortest paths; once its level has been
                                 // gone through on the way back (1 + δ) / σ, where δ is what depends on it
  double* totals;                // (vertices,) δ, added up over the sources
  edge_queue levels;             // of all vertices: those reached that an edge leaves, level after level
  std::uint64_t* level_begins;   // (vertices + 1,) marks in `levels`
  edge_queue next;               // of all vertices: those of the next level, by the edges that enter them
  edge_queue long_rows[2];       // (long_rows,) those of several parts: of an even stage, of an odd one
  wide_number* part_sums[2];     // (edges / part + 1,), (edges / part² + 1,) their sums
  betweenness_progress* progress;  // (1,) zero at the start
  betweenness_graph graph;
};

}  // namespace lull
