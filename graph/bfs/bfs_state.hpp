// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/bfs/bfs_progress.hpp>
#include <lull/graph/bfs/vertex_bitmap.hpp>
#include <lull/graph/edge_queue.hpp>

namespace lull {

/// What a search says of a vertex: its depth, and below it its parent, in one word. So the lesser of two is the one
/// that was reached earlier, or at the same depth from the lower parent. The source is its own parent.
struct bfs_label {
  static constexpr std::uint64_t unreached = ~std::uint64_t{0};

  LULL_HD static constexpr std::uint64_t of(std::uint64_t depth, std::uint32_t parent) noexcept {
    return depth << 32 | parent;
  }
  LULL_HD static constexpr std::uint64_t depth(std::uint64_t label) noexcept { return label >> 32; }
  LULL_HD static constexpr std::uint32_t parent(std::uint64_t label) noexcept {
    return static_cast<std::uint32_t>(label);
  }
};

/// What breadth-first searches work on, in a machine's memory; passed by value, owns nothing.
struct bfs_state {
  std::uint64_t const* out_offsets;  // (vertices + 1,) the graph
  std::uint32_t const* out_targets;  // (edges,)
  std::uint64_t const* in_offsets;   // (vertices + 1,) its transpose
  std::uint32_t const* in_sources;   // (edges,) each row rising
  vertex_bitmap entered;             // the vertices that edges enter
  std::uint32_t const* sources;      // (searches,)
  std::uint64_t* labels;             // (searches, vertices)
  edge_queue queue;                  // of all vertices
  vertex_bitmap frontiers[2];        // of this depth and the next, in turn
  vertex_bitmap open;                // not reached, but entered
  bfs_progress* progress;            // (1,) zero at the start
  bfs_graph graph;

  /// Of the search that is running.
  LULL_HD std::uint64_t* label() const noexcept { return labels + progress->search * graph.vertices; }
  LULL_HD vertex_bitmap frontier() const noexcept { return frontiers[progress->turned]; }
  LULL_HD vertex_bitmap next() const noexcept { return frontiers[1 - progress->turned]; }

  LULL_HD std::uint64_t degree(std::uint32_t vertex) const noexcept {
    return out_offsets[vertex + 1ULL] - out_offsets[vertex];
  }
};

}  // namespace lull
