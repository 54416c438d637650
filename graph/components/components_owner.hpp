// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/task/owner.hpp>

namespace lull {

/// `components`: the connected components of a graph, its edges without a direction; the graph is chosen as for
/// `pagerank`. A graph from a file that holds each edge in both directions is recognised, and most of its edges need
/// not be read then. `arrays()` are those that a run writes; a graph of the same options is the same graph. Verified by
/// `verify_components`, on the edges as they were loaded; these stay in the host's memory for it.
task_entry components_entry();

}  // namespace lull
