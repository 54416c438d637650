// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/graph/betweenness/betweenness.hpp>

namespace lull {

/// Betweenness centrality in items of 16 edges and parts of 4, so that a graph small enough for a test reaches what
/// large ones do: many items a level, hubs over many items, rows that are added up in several stages.
using small_betweenness = basic_betweenness<16, 2, 32>;

}  // namespace lull
