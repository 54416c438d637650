// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <lull/host/cuda/conductor.hpp>

namespace lull {

/// A graph's nodes in order, in a form that can be added to graphs that the device launches: all become kernels of one
/// context.
class segment_nodes {
 public:
  using graph = detail::owned_graph;

  /// `stream`: of that context; nothing is enqueued on it. Throws usage_error for a node that cannot become a kernel.
  /// The graph must outlive this object.
  segment_nodes(cudaGraph_t graph, CUcontext where, cudaStream_t stream);

  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(order_.size()); }
  /// Returns the name of the node's kernel, or what the node does.
  std::string name(std::uint32_t at) const;
  /// Returns the name for an error, with the node's number in CUDA's list.
  std::string title(std::uint32_t at) const;
  /// Makes a graph of the nodes [begin, end) that ends with `proceed_kernel`, which takes `arguments`.
  graph segment(std::uint32_t begin, std::uint32_t end, void** arguments) const;
  /// Makes a graph of all nodes, one after another, which stores the device's clock in `stamps_ns` (count + 2,): twice
  /// before, then after each node. The time between the first two is a stamp's own.
  graph stamped(std::uint64_t* stamps_ns) const;

 private:
  struct edge {
    std::uint32_t from;  // in the order
    CUgraphEdgeData data;
  };
  struct node {
    cudaGraphNode_t original = nullptr;
    std::uint32_t number = 0;  // in CUDA's list
    cudaGraphNodeType type = cudaGraphNodeTypeKernel;
    CUDA_KERNEL_NODE_PARAMS kernel{};
    detail::copied_bytes copied{};
    detail::filled_bytes filled{};
    std::vector<edge> behind;
  };

  static void put(edge const& added, std::vector<edge>& into);
  static void read(node& into);
  CUgraphNode add(CUgraph graph, node const& what, std::vector<CUgraphNode> const& behind,
                  std::vector<CUgraphEdgeData> const& edges) const;

  CUgraphNode add_function(CUgraph graph, CUDA_KERNEL_NODE_PARAMS const& what, std::vector<CUgraphNode> const& behind,
                           std::vector<CUgraphEdgeData> const& edges) const;

  CUcontext const where_;
  cudaStream_t const stream_;
  std::vector<node> order_;
};

}  // namespace lull
