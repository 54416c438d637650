// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/oriented.hpp>
#include <lull/graph/triangles.hpp>
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
  host_array<triangle_pair> pairs;  // by rising searched row
  std::vector<triangle_item> items;
};

/// Pairs each edge's two rows, the shorter one to be streamed, and cuts them into items that are as large as the limits
/// allow. A row that is longer than the list of an item is searched piece by piece. The result does not depend on
/// `threads` (0: those of the machine). At its highest the memory holds, beside the graph, 20 bytes for each of its
/// edges, 12 for each vertex, and the items. Throws limit_error for 2³² edges and more, std::bad_alloc.
triangles_plan plan_triangles(csr const& rows, triangles_limits const& limits, unsigned threads = 0);

}  // namespace lull
