// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/task/owner.hpp>

namespace lull {

/// Core numbers as the command line and the C library run them: over a graph chosen as graph_input says, taken as
/// undirected and simple. `arrays()` are those that a run writes; a graph of the same options is the same graph.
/// Verified by `verify_kcore`, on the edges as they were loaded; these stay in the host's memory for it.
task_entry kcore_entry();

}  // namespace lull
