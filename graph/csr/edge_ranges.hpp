// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <vector>

namespace lull::detail {

/// Edges of a part that one thread of a set-up does. Parts are ranges of edges, not of vertices: a hub is spread over
/// several.
inline constexpr std::uint64_t part_edges = 1ULL << 16;

inline std::size_t edge_parts(csr const& graph) noexcept { return (graph.edges() + part_edges - 1) / part_edges; }

/// The edges of each part.
inline std::vector<std::uint64_t> part_sizes(csr const& graph) {
  std::vector<std::uint64_t> sizes(edge_parts(graph), part_edges);
  if (!sizes.empty()) sizes.back() = graph.edges() - (sizes.size() - 1) * part_edges;
  return sizes;
}

/// The vertex whose row holds the edge, or, for `edges()`, the last.
inline std::uint32_t row_of(csr const& graph, std::uint64_t edge) noexcept {
  auto const behind = std::upper_bound(graph.offsets.begin(), graph.offsets.end() - 1, edge);
  return static_cast<std::uint32_t>(behind - graph.offsets.begin() - 1);
}

/// Calls see(source, edge) for each edge of the part, in order; its target is graph.targets[edge].
template <class See>
void visit_part(csr const& graph, std::size_t part, See const& see) {
  auto const begin = part * part_edges;
  auto const end = std::min(begin + part_edges, graph.edges());
  auto row = row_of(graph, begin);
  for (auto edge = begin; edge < end; ++edge) {
    while (edge >= graph.offsets[row + 1ULL]) ++row;
    see(row, edge);
  }
}

/// Calls see(row) for each row that begins in the part, in order: so each row with an edge is of one part. A row
/// without edges may be of one or of none.
template <class See>
void visit_rows_of_part(csr const& graph, std::size_t part, See const& see) {
  auto const begin = part * part_edges;
  auto const end = std::min(begin + part_edges, graph.edges());
  auto const first = std::lower_bound(graph.offsets.begin(), graph.offsets.end() - 1, begin);
  auto row = static_cast<std::uint32_t>(first - graph.offsets.begin());
  for (; row < graph.vertices() && graph.offsets[row] < end; ++row) see(row);
}

}  // namespace lull::detail
