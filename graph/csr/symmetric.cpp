// SPDX-License-Identifier: Apache-2.0
#include <lull/graph/csr/symmetric.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <lull/graph/csr/edge_list.hpp>
#include <lull/graph/csr/edge_ranges.hpp>
#include <lull/graph/csr/transpose.hpp>
#include <lull/graph/parallel.hpp>

namespace lull {
namespace {

constexpr std::size_t part_vertices = 4096;

/// False: some edge has no other the other way. Looks at some edges alone, spread over the graph, whose other would be
/// in a short row: a graph that is not symmetric hardly ever has all of these twice.
bool seems_symmetric(csr const& graph) {
  constexpr std::uint64_t looks = 1024;
  constexpr std::uint64_t short_row = 256;
  for (std::uint64_t look = 0; look < std::min(looks, graph.edges()); ++look) {
    std::uint64_t const edge = look * (graph.edges() / std::min(looks, graph.edges()));
    std::uint32_t const target = graph.targets[edge];
    std::uint64_t const begin = graph.offsets[target];
    std::uint64_t const end = graph.offsets[target + std::size_t{1}];
    if (end - begin > short_row) continue;
    auto const* const row = graph.targets.data();
    if (std::find(row + begin, row + end, detail::row_of(graph, edge)) == row + end) return false;
  }
  return true;
}

/// Whether two sorted rows hold the same vertices, however often.
bool same_vertices(std::span<std::uint32_t const> a, std::span<std::uint32_t const> b) {
  std::size_t i = 0;
  std::size_t k = 0;
  while (i < a.size() && k < b.size()) {
    std::uint32_t const vertex = a[i];
    if (b[k] != vertex) return false;
    while (i < a.size() && a[i] == vertex) ++i;
    while (k < b.size() && b[k] == vertex) ++k;
  }
  return i == a.size() && k == b.size();
}

}  // namespace

bool is_symmetric(csr const& graph, unsigned threads) {
  if (!seems_symmetric(graph)) return false;
  threads = detail::set_up_threads(threads);
  csr const turned = transpose(graph, threads);  // a look at each edge's other would be a cache miss each
  std::size_t const vertices = graph.vertices();
  std::atomic<bool> symmetric{true};
  detail::for_each_part((vertices + part_vertices - 1) / part_vertices, threads, [&](std::size_t part) {
    std::vector<std::uint32_t> sorted;
    std::size_t const end = std::min((part + 1) * part_vertices, vertices);
    for (std::size_t vertex = part * part_vertices; vertex < end; ++vertex) {
      if (!symmetric.load(std::memory_order_relaxed)) return;  // publishes nothing; joining does
      auto const row_of = [vertex](csr const& of) {
        return std::span{of.targets}.subspan(of.offsets[vertex], of.offsets[vertex + 1] - of.offsets[vertex]);
      };
      std::span<std::uint32_t const> row = row_of(graph);
      if (!std::is_sorted(row.begin(), row.end())) {
        sorted.assign(row.begin(), row.end());
        std::sort(sorted.begin(), sorted.end());
        row = sorted;
      }
      if (!same_vertices(row, row_of(turned))) symmetric.store(false, std::memory_order_relaxed);
    }
  });
  return symmetric;
}

csr symmetrised(csr graph, unsigned threads) {
  auto const vertices = graph.vertices();
  auto from = std::make_shared<csr const>(std::move(graph));
  edge_supply supply{.max_edges = detail::part_sizes(*from)};
  supply.make = [from = std::move(from)](std::size_t part, edge_list::block& block) {
    auto const begin = part * detail::part_edges;
    block.edges.resize(std::min(detail::part_edges, from->edges() - begin));
    detail::visit_part(
        *from, part,
        [edges = block.edges.data(), begin, targets = from->targets.data()](std::uint32_t row, std::uint64_t at) {
          edges[at - begin] = {row, targets[at]};
        });
  };
  return make_csr(std::move(supply), vertices, mirror::all, threads);
}

}  // namespace lull
