// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/load/edge_weights.hpp>
#include <lull/host/task/owner.hpp>
#include <span>
#include <string>

namespace lull {

/// What a search for shortest paths has found of a vertex. The source's parent is the source.
struct sssp_found {
  static constexpr std::uint64_t unreached = ~std::uint64_t{0};
  static constexpr std::uint32_t none = 0xffff'ffff;

  std::uint64_t distance = unreached;  // a whole number, or the bits of a float
  std::uint32_t parent = none;

  bool operator==(sssp_found const&) const = default;
};

struct sssp_verdict : verification {
  std::uint64_t reached = 0;
  double farthest = 0;     // greatest distance
  std::uint32_t hops = 0;  // of the path with the most edges
};

/// A distance as text: a whole number, or nine digits, which no two floats share; `inf` where not reached.
std::string text_of_distance(std::uint64_t distance, weight_kind kind);

/// Checks distances and parents of a search from `source` over the weighted edges of `out`, u → v in the row of u;
/// `found`: (vertices,). By properties that no other result has, and by another search:
///   the source has distance 0, and each other reached vertex has an edge from its parent that is as long as the
///   difference of their distances, parents without a cycle: so there is a path of each length;
///   no edge makes a distance less: so none is too great, and all that can be reached is;
///   of the edges that shortest paths take, none leads to a vertex with more hops than one more than its source has,
///   or, with as many, from a lower vertex than its parent;
///   Dijkstra's algorithm, stopped after the `sampled` nearest vertices, finds their distances.
/// One thread; 12 bytes a vertex, and 16 for each edge that leaves a sampled one. Throws usage_error for an invalid
/// graph, one without weights, a source that is none of its vertices, another number of results than of vertices.
///
/// Source: Dijkstra, "A note on two problems in connexion with graphs", Numerische Mathematik 1, 1959.
sssp_verdict verify_sssp(csr const& out, weight_kind kind, std::uint32_t source, std::span<sssp_found const> found,
                         std::uint64_t sampled = std::uint64_t{1} << 16);

}  // namespace lull
