// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/graph/sssp/sssp.hpp>

namespace lull {

/// Shortest paths in items of 16 edges, so that a graph small enough for a test reaches what large ones do: many items
/// a wave, hubs over many items, buckets of many.
using small_sssp = basic_sssp<16, 32>;

}  // namespace lull
