// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <lull/graph/csr/degrees.hpp>
#include <lull/graph/csr/edge_list.hpp>
#include <lull/graph/csr/edge_ranges.hpp>
#include <lull/graph/csr/oriented.hpp>
#include <lull/graph/parallel.hpp>
#include <memory>
#include <utility>

namespace lull {
namespace {

host_array<std::uint64_t> all_degrees(csr const& graph, unsigned threads) {
  auto degrees = in_degrees(graph, threads);
  for (std::size_t vertex = 0; vertex < degrees.size(); ++vertex)
    degrees[vertex] += graph.offsets[vertex + 1] - graph.offsets[vertex];
  return degrees;
}

/// Each edge of the graph but self-loops, from the higher number to the lower.
csr falling_edges(csr const& graph, host_array<std::uint32_t> number, unsigned threads) {
  edge_supply supply{.max_edges = detail::part_sizes(graph)};
  auto numbers = std::make_shared<host_array<std::uint32_t> const>(std::move(number));
  supply.make = [&graph, numbers = std::move(numbers)](std::size_t part, edge_list::block& block) {
    auto& edges = block.edges;
    edges.resize(detail::part_edges);
    std::size_t kept = 0;
    detail::visit_part(graph, part,
                       [to = edges.data(), &kept, targets = graph.targets.data(), number = numbers->data()](
                           std::uint32_t row, std::uint64_t at) {
                         auto const a = number[row];
                         auto const b = number[targets[at]];
                         auto const higher = std::max(a, b);
                         to[kept] = {higher, a ^ b ^ higher};  // a branch would go either way at random
                         kept += a != b ? 1 : 0;
                       });
    edges.resize(kept);
  };
  return make_csr(std::move(supply), graph.vertices(), mirror::none, threads);
}

/// The graph with its rows sorted and without duplicates.
csr simplified(csr graph, unsigned threads) {
  auto const parts = detail::edge_parts(graph);
  csr made;
  made.offsets.assign(graph.offsets.size(), 0);
  auto* const targets = graph.targets.data();
  detail::for_each_part(parts, threads, [&](std::size_t part) {
    detail::visit_rows_of_part(graph, part, [&](std::uint32_t row) {
      auto* const begin = targets + graph.offsets[row];
      auto* const end = targets + graph.offsets[row + 1ULL];
      std::sort(begin, end);
      made.offsets[row + 1ULL] = static_cast<std::uint64_t>(std::unique(begin, end) - begin);
    });
  });
  for (std::size_t row = 1; row < made.offsets.size(); ++row) made.offsets[row] += made.offsets[row - 1];
  made.targets.resize(made.offsets.back());
  detail::for_each_part(parts, threads, [&](std::size_t part) {
    detail::visit_rows_of_part(graph, part, [&](std::uint32_t row) {
      auto const to = made.offsets[row];
      std::copy_n(targets + graph.offsets[row], made.offsets[row + 1ULL] - to, made.targets.data() + to);
    });
  });
  return made;
}

}  // namespace

oriented_graph orient(csr const& graph, unsigned threads) {
  threads = detail::set_up_threads(threads);
  oriented_graph made;
  made.vertex = by_falling_degree(all_degrees(graph, threads));
  host_array<std::uint32_t> number(made.vertex.size());
  for (std::uint32_t at = 0; at < number.size(); ++at) number[made.vertex[at]] = at;
  made.rows = simplified(falling_edges(graph, std::move(number), threads), threads);
  return made;
}

}  // namespace lull
