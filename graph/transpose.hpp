// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/graph/csr.hpp>

namespace lull {

/// The graph with every edge turned round, weights with it. Each row holds its edges by rising source of the given
/// graph (equal ones in the order they had there), so that transposing twice sorts the rows and changes nothing else.
/// The graph must be valid. `threads`: 0 for those of the machine; the result does not depend on it. At its highest
/// the memory holds both graphs and 8 bytes an edge (12 with weights); throws std::bad_alloc where it does not suffice.
csr transpose(csr const& graph, unsigned threads = 0);

}  // namespace lull
