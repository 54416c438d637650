// SPDX-License-Identifier: Apache-2.0
#include <lull/graph/csr/degrees.hpp>
#include <lull/graph/csr/machine_csr.hpp>
#include <lull/graph/csr/transpose.hpp>
#include <span>

namespace lull {
namespace {

/// A ring, weighted, in which each vertex has `degree` equal edges to the next.
csr ring(std::uint32_t vertices, std::uint32_t degree) {
  csr graph;
  graph.offsets.push_back(0);
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
    graph.targets.insert(graph.targets.end(), degree, (vertex + 1) % vertices);
    graph.offsets.push_back(graph.targets.size());
  }
  graph.weights.assign(graph.targets.size(), 1);
  return graph;
}

}  // namespace

machine_csr::machine_csr(executor& executor, csr const& graph)
    : offsets(executor, std::span<std::uint64_t const>{graph.offsets}),
      targets(executor, std::span<std::uint32_t const>{graph.targets}) {
  if (!graph.weights.empty()) weights = {executor, std::span<float const>{graph.weights}};
}

csr read(executor& executor, machine_csr const& graph) {
  csr copy;
  copy.offsets.resize(graph.offsets.size());
  copy.targets.resize(graph.targets.size());
  copy.weights.resize(graph.weights.size());
  executor.read(copy.offsets.data(), graph.offsets.data(), graph.offsets.bytes());
  executor.read(copy.targets.data(), graph.targets.data(), graph.targets.bytes());
  executor.read(copy.weights.data(), graph.weights.data(), graph.weights.bytes());
  return copy;
}

void load_graph_kernels(executor& executor) {
  if (executor.kind() != executor_kind::cuda) return;
  // A sort of a few thousand keys is one kernel, a longer one is several others: one graph for each.
  for (std::uint32_t const vertices : {16U, 1U << 14}) {
    machine_csr const graph{executor, ring(vertices, 8)};
    transpose(executor, graph);
    out_degrees(executor, graph);
    in_degrees(executor, graph);
  }
}

}  // namespace lull
