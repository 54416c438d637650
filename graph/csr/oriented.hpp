// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>

namespace lull {

/// A graph taken as undirected and simple: each edge once, from its end of lower degree to that of higher degree.
/// Vertices are numbered again, by falling degree (equal ones by rising vertex): so edges lead from a higher to a lower
/// number, and hubs have the lowest.
struct oriented_graph {
  csr rows;                          // each rising, without duplicates; no self-loops, no weights
  host_array<std::uint32_t> vertex;  // (vertices,) u32, which vertex of the given graph has the number
};

/// Orients a valid graph; its directions and weights are not looked at. A degree counts the listed edges that enter and
/// leave, duplicates too, so of m listed edges no row has more than √(2 m). `threads`: 0 for those of the machine; the
/// result does not depend on it. At its highest the memory holds, beside the given graph, 10 bytes for each of its
/// edges and 24 for each vertex; throws std::bad_alloc where it does not suffice.
///
/// Source: Schank, Wagner, "Finding, counting and listing all triangles in large graphs", WEA 2005, section 2 (forward:
/// edges by degree).
oriented_graph orient(csr const& graph, unsigned threads = 0);

}  // namespace lull
