// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/triangles/triangles.hpp>
#include <span>
#include <vector>

namespace lull {

/// What one item may take at most; each at least 1 and below 2¹⁶.
struct triangles_limits {
  std::uint32_t lookups;
  std::uint32_t pairs;
  std::uint32_t list;  // elements of the rows that are searched
};

/// The work of counting triangles, cut into items.
struct triangles_plan {
  csr searched;  // row r: the rows of which elements are looked up in r; an edge weighs as many as these are
  std::vector<triangle_item> items;
};

/// Pairs each edge's two rows, the shorter one to be streamed, and cuts them into items that are as large as the limits
/// allow. A row that is longer than the list of an item is searched piece by piece. The result does not depend on
/// `threads` (0: those of the machine). At its highest the memory holds, beside the graph, 18 bytes for each of its
/// edges, 12 for each vertex, and the items. Throws limit_error for 2³² edges and more, std::bad_alloc.
triangles_plan plan_triangles(csr const& rows, triangles_limits const& limits, unsigned threads = 0);

/// Calls see(pairs) for some pairs after the others, by rising searched row: all of them at once would take more memory
/// than the plan.
void visit_pairs(triangles_plan const& plan, std::function<void(std::span<triangle_pair const>)> const& see);

}  // namespace lull
