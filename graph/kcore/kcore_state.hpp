// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/edge_queue.hpp>
#include <lull/graph/kcore/kcore_progress.hpp>

namespace lull {

/// What a core decomposition works on, in a machine's memory; passed by value, owns nothing. The graph is simple and
/// has each edge in both directions.
struct kcore_state {
  std::uint64_t const* offsets;  // (vertices + 1,) u64, in edges
  std::uint32_t const* targets;  // (edges,) u32
  std::int32_t* core;            // (vertices,) i32, neighbours left; of a vertex that was taken out its core number
  edge_queue queue;              // of all vertices
  std::uint32_t* lists[2];       // (half of the vertices,) and (a quarter,) u32, of those that are left
  kcore_progress* progress;      // (1,) zero at the start
  kcore_graph graph;

  LULL_HD std::uint64_t degree(std::uint32_t vertex) const noexcept { return offsets[vertex + 1ULL] - offsets[vertex]; }

  LULL_HD static constexpr std::uint64_t list_places(std::uint64_t vertices, int list) noexcept {
    return list == 0 ? (vertices + 1) / 2 : (vertices + 3) / 4;
  }
};

}  // namespace lull
