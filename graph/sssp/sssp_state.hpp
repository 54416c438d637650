// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/bfs/bfs_state.hpp>
#include <lull/graph/edge_queue.hpp>
#include <lull/graph/sssp/sssp_progress.hpp>

namespace lull {

/// Of a shortest path: how many edges it has, and below it the vertex before the last edge, in one word, as those of a
/// breadth-first search.
using sssp_label = bfs_label;

/// What searches for shortest paths work on, in a machine's memory; passed by value, owns nothing.
struct sssp_state {
  std::uint64_t const* offsets;  // (vertices + 1,) the graph
  std::uint32_t const* targets;  // (edges,)
  std::uint32_t const* weights;  // (edges,) whole numbers, or bits of floats
  std::uint32_t const* sources;  // (searches,)
  std::uint32_t* distances;      // (searches, vertices)
  std::uint64_t* labels;         // (searches, vertices)
  edge_queue frontiers[2];       // of all vertices, with the starts of `starts` items
  std::uint32_t* far[2];         // (vertices,)
  std::uint32_t* waved;          // (vertices,) the last wave that the vertex was appended for
  std::uint32_t* put_far;        // (vertices,) the last bucket in whose list of far vertices it stands
  std::uint64_t starts;          // items of all edges
  sssp_progress* progress;       // (1,) zero at the start
  sssp_graph graph;

  LULL_HD std::uint32_t* distance(std::uint64_t search) const noexcept { return distances + search * graph.vertices; }
  LULL_HD std::uint64_t* label(std::uint64_t search) const noexcept { return labels + search * graph.vertices; }
  LULL_HD std::uint64_t degree(std::uint32_t vertex) const noexcept { return offsets[vertex + 1ULL] - offsets[vertex]; }
};

}  // namespace lull
