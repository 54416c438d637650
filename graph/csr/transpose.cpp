// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/csr/device_csr.hpp>
#include <lull/graph/csr/edge_list.hpp>
#include <lull/graph/csr/edge_ranges.hpp>
#include <lull/graph/csr/transpose.hpp>
#include <utility>

namespace lull {

csr transpose(csr const& graph, unsigned threads) {
  edge_supply supply{.max_edges = detail::part_sizes(graph), .weighted = !graph.weights.empty()};
  supply.make = [&graph, weighted = supply.weighted](std::size_t part, edge_list::block& block) {
    auto const begin = part * detail::part_edges;
    auto const end = std::min(begin + detail::part_edges, graph.edges());
    block.edges.resize(end - begin);
    detail::visit_part(graph, part, [edges = block.edges.data(), &graph, begin](std::uint32_t row, std::uint64_t at) {
      edges[at - begin] = {graph.targets[at], row};
    });
    if (weighted)
      block.weights.assign(graph.weights.begin() + static_cast<std::ptrdiff_t>(begin),
                           graph.weights.begin() + static_cast<std::ptrdiff_t>(end));
  };
  return make_csr(std::move(supply), graph.vertices(), mirror::none, threads);
}

machine_csr transpose(executor& executor, machine_csr const& graph, stream_handle stream) {
  if (executor.kind() == executor_kind::cuda) return detail::transpose_on_device(executor, graph, stream);
  return {executor, transpose(read(executor, graph))};
}

}  // namespace lull
