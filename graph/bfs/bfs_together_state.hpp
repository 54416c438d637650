// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/bfs/bfs_state.hpp>
#include <lull/graph/bfs/bfs_together_progress.hpp>
#include <lull/graph/edge_queue.hpp>

namespace lull {

/// The labels of a group: those that its searches give one vertex lie in a row, since many of them are often written at
/// one depth.
struct bfs_together_labels {
  std::uint64_t* first;    // (vertices, searches)
  std::uint32_t searches;  // of the group

  LULL_HD std::uint64_t& of(std::uint32_t vertex, std::uint32_t search) const noexcept {
    return first[std::uint64_t{vertex} * searches + search];
  }
};

/// What searches at once work on, in a machine's memory; passed by value, owns nothing. A word has a bit for each
/// search of the group.
struct bfs_together_state {
  std::uint64_t const* out_offsets;  // (vertices + 1,) the graph
  std::uint32_t const* out_targets;  // (edges,)
  std::uint64_t const* in_offsets;   // (vertices + 1,) its transpose
  std::uint32_t const* in_sources;   // (edges,) each row rising
  std::uint32_t const* sources;      // (searches,)
  std::uint64_t* labels;             // (searches × vertices,) as bfs_label, group after group
  std::uint64_t* words;              // (4, vertices) the searches by which a vertex is seen, and three times reached
  std::uint32_t* queue_vertices;     // (3, vertices)
  std::uint64_t* queue_edges;        // (3, vertices)
  bfs_together_progress* progress;   // (1,) zero at the start
  bfs_together_graph graph;

  /// The searches that reached each vertex before this depth. A push adds those of its own frontier meanwhile.
  LULL_HD std::uint64_t* seen() const noexcept { return words; }
  /// The searches that reached each vertex at this very depth. Three serve all depths, in turn: this one, the next,
  /// which is zero where a level begins, and the one before, which becomes zero meanwhile.
  LULL_HD std::uint64_t* reached_at(std::uint64_t depth) const noexcept {
    return words + (1 + depth % 3) * std::uint64_t{graph.vertices};
  }
  /// Of the vertices of a frontier, in turn too.
  LULL_HD edge_queue queue(std::uint64_t depth) const noexcept {
    std::uint64_t const first = depth % 3 * graph.vertices;
    return {queue_vertices + first, queue_edges + first};
  }
  /// Of the vertices that a level pulls, when no frontier needs a queue.
  LULL_HD edge_queue open_vertices() const noexcept { return queue(0); }

  /// Of the group that is running.
  LULL_HD std::uint64_t first_search() const noexcept { return progress->group * graph.at_once; }
  LULL_HD std::uint32_t searches() const noexcept {
    std::uint64_t const left = graph.searches - first_search();
    return left < graph.at_once ? static_cast<std::uint32_t>(left) : graph.at_once;
  }
  LULL_HD std::uint64_t all_searches() const noexcept { return ~std::uint64_t{0} >> (64 - searches()); }
  LULL_HD bfs_together_labels group_labels() const noexcept {
    return {labels + first_search() * graph.vertices, searches()};
  }

  LULL_HD std::uint64_t degree(std::uint32_t vertex) const noexcept {
    return out_offsets[vertex + 1ULL] - out_offsets[vertex];
  }
};

}  // namespace lull
