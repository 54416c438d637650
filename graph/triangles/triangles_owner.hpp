// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/task/owner.hpp>

namespace lull {

/// `triangles`: counts the triangles of a graph from a file, of a generated one, or of the shipped one, the packages of
/// Debian 12, in total and at each vertex. Edges are taken as undirected; duplicates and self-loops do not count.
/// `arrays()` are those that a run writes; a graph of the same options is the same graph. Verified by
/// `verify_triangles`, on the edges as they were loaded; these stay in the host's memory for it.
task_entry triangles_entry();

}  // namespace lull
