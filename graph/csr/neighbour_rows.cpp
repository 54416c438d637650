// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/csr/neighbour_rows.hpp>
#include <lull/graph/csr/transpose.hpp>

namespace lull::detail {

neighbour_rows::neighbour_rows(csr const& graph, unsigned threads)
    : begins_(graph.offsets.size()), sizes_(graph.vertices()) {
  csr const in = transpose(graph, threads);
  for (std::size_t vertex = 0; vertex < begins_.size(); ++vertex)
    begins_[vertex] = graph.offsets[vertex] + in.offsets[vertex];
  all_.resize(begins_.back());
  for_each_vertex(threads, [&](std::uint32_t vertex) { join(graph, in, vertex); });
}

void neighbour_rows::join(csr const& graph, csr const& in, std::uint32_t vertex) {
  auto* const begin = all_.data() + begins_[vertex];
  auto* end = begin;
  for (csr const* const side : {&graph, &in})
    end = std::copy(side->targets.data() + side->offsets[vertex], side->targets.data() + side->offsets[vertex + 1ULL],
                    end);
  std::sort(begin, end);
  end = std::remove(begin, std::unique(begin, end), vertex);
  sizes_[vertex] = static_cast<std::uint64_t>(end - begin);
}

}  // namespace lull::detail
