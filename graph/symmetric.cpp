// SPDX-License-Identifier: Apache-2.0
#include <lull/graph/symmetric.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <lull/graph/edge_list.hpp>
#include <lull/graph/edge_ranges.hpp>
#include <lull/graph/parallel.hpp>
#include <lull/graph/transpose.hpp>

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
  threads = detail::set_up_threads(threads);
  auto const vertices = graph.vertices();
  edge_list list;
  list.blocks.resize(detail::edge_parts(graph));
  detail::for_each_part(list.blocks.size(), threads, [&](std::size_t part) {
    auto& edges = list.blocks[part].edges;
    edges.resize(std::min(detail::part_edges, graph.edges() - part * detail::part_edges));
    std::size_t kept = 0;
    detail::visit_part(graph, part, [&](std::uint32_t row, std::uint64_t at) {
      edges[kept++] = {row, graph.targets[at]};
    });
  });
  graph = {};
  return make_csr(std::move(list), vertices, mirror::all, threads);
}

}  // namespace lull
