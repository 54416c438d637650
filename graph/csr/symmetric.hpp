// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/graph/csr/csr.hpp>

namespace lull {

/// Whether there is an edge v → u for each edge u → v, however many there are of each. The graph must be valid.
/// `threads`: 0 for those of the machine. Takes the memory of `transpose`, but mostly none where an edge has no other;
/// throws std::bad_alloc where memory does not suffice.
bool is_symmetric(csr const& graph, unsigned threads = 0);

/// The graph with an edge v → u beside each edge u → v; weights are left out. It has twice as many edges, also where it
/// was symmetric before. A row holds its edges in the order of the given graph's. The graph must be valid; it is
/// consumed. `threads`: 0 for those of the machine; the result does not depend on it. At its highest the memory holds,
/// beside offsets, 20 bytes for each of the given edges; throws std::bad_alloc where it does not suffice.
csr symmetrised(csr graph, unsigned threads = 0);

}  // namespace lull
