// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda_graph/graph_listing.hpp>

#include <cstddef>
#include <cstdint>
#include <map>

#include <lull/host/cuda/check.hpp>

namespace lull {

graph_listing::graph_listing(cudaGraph_t graph) {
  std::size_t count = 0;
  LULL_CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  nodes.resize(count);
  if (count != 0) LULL_CUDA(cudaGraphGetNodes(graph, nodes.data(), &count));
  std::map<cudaGraphNode_t, std::uint32_t> number;
  for (std::uint32_t at = 0; at < nodes.size(); ++at) number[nodes[at]] = at;
  LULL_CUDA(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
  std::vector<cudaGraphNode_t> from(count);
  std::vector<cudaGraphNode_t> to(count);
  data.resize(count);
  if (count != 0) LULL_CUDA(cudaGraphGetEdges(graph, from.data(), to.data(), data.data(), &count));
  for (std::size_t at = 0; at < count; ++at) edges.emplace_back(number.at(from[at]), number.at(to[at]));
}

}  // namespace lull
