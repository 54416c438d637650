// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/device_csr.hpp>
#include <lull/graph/edge_list.hpp>
#include <lull/graph/parallel.hpp>
#include <lull/graph/transpose.hpp>
#include <utility>

namespace lull {

csr transpose(csr const& graph, unsigned threads) {
  constexpr std::uint64_t block_edges = 1ULL << 16;
  threads = detail::set_up_threads(threads);
  edge_list list;
  list.weighted = !graph.weights.empty();
  list.blocks.resize((graph.edges() + block_edges - 1) / block_edges);
  // Blocks are ranges of edges, not of vertices: a hub is spread over several.
  detail::for_each_part(list.blocks.size(), threads, [&](std::size_t part) {
    auto const begin = part * block_edges;
    auto const end = std::min(begin + block_edges, graph.edges());
    auto& [edges, weights] = list.blocks[part];
    edges.resize(end - begin);
    auto row = static_cast<std::uint32_t>(std::upper_bound(graph.offsets.begin(), graph.offsets.end(), begin) -
                                          graph.offsets.begin() - 1);
    for (auto at = begin; at < end; ++at) {
      while (at >= graph.offsets[row + 1ULL]) {
        ++row;
      }
      edges[at - begin] = {graph.targets[at], row};
    }
    if (list.weighted) {
      weights.assign(graph.weights.begin() + static_cast<std::ptrdiff_t>(begin),
                     graph.weights.begin() + static_cast<std::ptrdiff_t>(end));
    }
  });
  return make_csr(std::move(list), graph.vertices(), mirror::none, threads);
}

machine_csr transpose(executor& machine, machine_csr const& graph, stream_handle stream) {
  if (machine.kind() == executor_kind::cuda) return detail::transpose_on_device(machine, graph, stream);
  return {machine, transpose(read(machine, graph))};
}

}  // namespace lull
