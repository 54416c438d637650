// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/host/task/owner.hpp>
#include <span>

namespace lull {

/// What a breadth-first search has found of a vertex. The source's parent is the source.
struct bfs_found {
  static constexpr std::uint32_t none = 0xffff'ffff;

  std::uint32_t depth = none;   // none: not reached
  std::uint32_t parent = none;  // none: not reached

  bool operator==(bfs_found const&) const = default;
};

/// Checks depths and parents of a search from `source` over the edges of `out`, u → v in the row of u; `found`:
/// (vertices,). By properties that no other result has, in one pass over vertices and one over edges, without a search:
///   the source, and no other vertex, has depth 0;
///   no edge leaves a reached vertex for one that is not reached, or is deeper by more than one: so no depth is too
///   great, and all that can be reached is;
///   each other reached vertex has an edge from a vertex of the depth before: so there is a path of that length, and no
///   depth is too small;
///   its parent is the lowest of those; what is not reached has none.
/// One thread; 4 bytes a vertex. Throws usage_error for an invalid graph, a source that is none of its vertices,
/// another number of results than of vertices.
///
/// Source: Graph 500, benchmark specification, section 8 (validation); there any parent will do.
verification verify_bfs(csr const& out, std::uint32_t source, std::span<bfs_found const> found);

}  // namespace lull
