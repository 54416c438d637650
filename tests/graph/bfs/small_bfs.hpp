// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/graph/bfs/bfs.hpp>
#include <lull/graph/bfs/bfs_together.hpp>

namespace lull {

/// Breadth-first search in items of 16 edges and two probes, so that a graph small enough for a test reaches what large
/// ones do: many items a level, hubs over many items, vertices that go on in `rest`.
using small_bfs = basic_bfs<16, 2, 32>;

/// Searches at once in items of 16 edges, for the same reason.
using small_bfs_together = basic_bfs_together<16, 32>;

}  // namespace lull
