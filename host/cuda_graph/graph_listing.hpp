// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <cuda_runtime_api.h>

#include <lull/host/cuda_graph/graph_order.hpp>

namespace lull {

/// What a graph holds, in CUDA's order.
struct graph_listing {
  std::vector<cudaGraphNode_t> nodes;
  std::vector<graph_edge> edges;        // by the numbers of `nodes`
  std::vector<cudaGraphEdgeData> data;  // of each edge

  /// Throws device_error.
  explicit graph_listing(cudaGraph_t graph);
  /// Returns the numbers of its nodes in topological order.
  std::vector<std::uint32_t> order() const {
    return topological_order(static_cast<std::uint32_t>(nodes.size()), edges);
  }
};

}  // namespace lull
