// SPDX-License-Identifier: Apache-2.0
#include <lull/graph/symmetric.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <lull/graph/edge_list.hpp>
#include <lull/graph/edge_ranges.hpp>
#include <lull/graph/parallel.hpp>

namespace lull {
namespace {

constexpr std::size_t part_vertices = 4096;

/// Calls work(vertex) for each.
template <class Work>
void for_each_vertex(csr const& graph, unsigned threads, Work const& work) {
  std::size_t const vertices = graph.vertices();
  detail::for_each_part((vertices + part_vertices - 1) / part_vertices, threads, [&](std::size_t part) {
    std::size_t const end = std::min((part + 1) * part_vertices, vertices);
    for (std::size_t vertex = part * part_vertices; vertex < end; ++vertex) work(vertex);
  });
}

}  // namespace

bool is_symmetric(csr const& graph, unsigned threads) {
  threads = detail::set_up_threads(threads);
  host_array<std::uint32_t> sorted = graph.targets;
  auto const row = [&](std::size_t vertex) { return sorted.data() + graph.offsets[vertex]; };
  for_each_vertex(graph, threads, [&](std::size_t vertex) { std::sort(row(vertex), row(vertex + 1)); });
  std::atomic<bool> symmetric{true};
  for_each_vertex(graph, threads, [&](std::size_t vertex) {
    for (std::uint32_t const* at = row(vertex); at != row(vertex + 1); ++at) {
      if (!symmetric.load(std::memory_order_relaxed)) return;  // publishes nothing; joining does
      if (at != row(vertex) && *at == at[-1]) continue;
      if (!std::binary_search(row(*at), row(*at + std::size_t{1}), static_cast<std::uint32_t>(vertex))) {
        symmetric.store(false, std::memory_order_relaxed);
      }
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
