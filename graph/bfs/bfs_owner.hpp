// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/task/owner.hpp>

namespace lull {

/// Breadth-first search as the command line and the C library run it: over a graph chosen as graph_input says, from one
/// vertex or from each of a list, one after the other or up to 64 at once, with the same results. `arrays()` are those
/// that a run writes; a graph of the same options is the same graph. Verified by `verify_bfs`, on the edges as they
/// were loaded; these stay in the host's memory for it.
task_entry bfs_entry();

}  // namespace lull
