// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/graph/csr.hpp>

namespace lull {

/// Whether there is an edge v → u for each edge u → v, however many there are of each. The graph must be valid.
/// `threads`: 0 for those of the machine. Takes 4 bytes an edge, and ends early where an edge has no other; throws
/// std::bad_alloc where memory does not suffice.
bool is_symmetric(csr const& graph, unsigned threads = 0);

}  // namespace lull
