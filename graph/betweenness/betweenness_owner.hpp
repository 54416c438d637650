// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/task/owner.hpp>

namespace lull {

/// Betweenness centrality as the command line and the C library run it: over a graph chosen as graph_input says, from
/// one vertex, each of a list, or a sample. `arrays()` are those that a run writes; a graph of the same options is the
/// same graph. Verified by `verify_betweenness`, on the edges as they were loaded; these stay in the host's memory for
/// it.
task_entry betweenness_entry();

}  // namespace lull
