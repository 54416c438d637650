// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/task/owner.hpp>

namespace lull {

/// Shortest paths as the command line and the C library run them: over a graph chosen as graph_input says, with its
/// weights or with such as draw_weights gives, from one vertex or from each of a list. `arrays()` are those that a run
/// writes; a graph of the same options is the same graph. Verified by `verify_sssp`, on the edges as they were loaded;
/// these stay in the host's memory for it.
task_entry sssp_entry();

}  // namespace lull
