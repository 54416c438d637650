// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/device_csr.hpp>
#include <lull/graph/edge_list.hpp>
#include <lull/graph/edge_ranges.hpp>
#include <lull/graph/parallel.hpp>
#include <lull/graph/transpose.hpp>
#include <utility>

namespace lull {

csr transpose(csr const& graph, unsigned threads) {
  threads = detail::set_up_threads(threads);
  edge_list list;
  list.weighted = !graph.weights.empty();
  list.blocks.resize(detail::edge_parts(graph));
  detail::for_each_part(list.blocks.size(), threads, [&](std::size_t part) {
    auto const begin = part * detail::part_edges;
    auto const end = std::min(begin + detail::part_edges, graph.edges());
    auto& [edges, weights] = list.blocks[part];
    edges.resize(end - begin);
    detail::visit_part(graph, part, [&edges, &graph, begin](std::uint32_t row, std::uint64_t at) {
      edges[at - begin] = {graph.targets[at], row};
    });
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
