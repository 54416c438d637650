// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/host/task/owner.hpp>

namespace lull {

/// `pagerank`: ranks of a graph from a file, of a generated one, or of the shipped one, the packages of Debian 12. That
/// one is looked for in the folder that the environment variable LULL_DATA names, or else where the build or the
/// installation put it. `arrays()` are those that a run writes; a graph of the same options is the same graph. Verified
/// by `verify_pagerank`, on the edges as they were loaded; these stay in the host's memory for it.
task_entry pagerank_entry();

}  // namespace lull
