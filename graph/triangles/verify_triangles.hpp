// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/host/task/owner.hpp>
#include <span>

namespace lull {

struct triangles_check {
  std::uint64_t max_steps = 1ULL << 38;  // of comparing every vertex; where it takes more, only a sample is compared
  std::uint64_t sample = 200;            // vertices
  unsigned threads = 0;                  // 0: those of the machine; the verdict does not depend on it
};

struct triangles_verdict : verification {
  std::uint64_t compared = 0;  // vertices
};

/// Checks the triangles at each vertex and in total; `graph` holds the edges as loaded: their direction, duplicates and
/// self-loops do not matter. `counts`: (vertices,) u64.
///
/// Takes vertices by falling degree: marks the neighbours of one that are still there, looks for marks among the later
/// neighbours of these, and takes the vertex away. Bits are marked; no two rows are intersected. A step is one look for
/// a mark: Σ over vertices of earlier × later neighbours, 4.4·10⁹ for Kronecker scale 20. Where that is more than
/// max_steps, a fixed random sample of the vertices with two neighbours and more is compared, each by all neighbours of
/// its neighbours, and the counts are added up: they must be three times the total. At its highest the memory holds,
/// beside the graph, 12 bytes for each of its edges and 40 for each vertex, and a bit a vertex and thread.
///
/// Throws usage_error for an invalid graph, and a number of counts other than that of the vertices.
///
/// Source: Chiba, Nishizeki, "Arboricity and subgraph listing algorithms", SIAM Journal on Computing 14, 1985, section
/// 3 (procedure K3).
triangles_verdict verify_triangles(csr const& graph, std::span<std::uint64_t const> counts, std::uint64_t total,
                                   triangles_check const& check = {});

}  // namespace lull
