// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/graph/csr/csr.hpp>
#include <lull/graph/csr/machine_csr.hpp>

namespace lull {

/// The graph with every edge turned round, weights with it. Each row holds its edges by rising source of the given
/// graph (equal ones in the order they had there), so that transposing twice sorts the rows and changes nothing else.
/// The graph must be valid. `threads`: 0 for those of the machine; the result does not depend on it. At its highest
/// the memory holds both graphs and 8 bytes an edge (12 with weights); throws std::bad_alloc where it does not suffice.
csr transpose(csr const& graph, unsigned threads = 0);

/// The same on the machine that holds the graph: on a GPU with Thrust, on `stream` (null: the machine's own of the
/// lowest priority). Blocks until it is done, without a call that waits for anything but that stream, which must not be
/// under capture; the calling thread's device must be the machine's. At its highest the machine's memory holds both
/// graphs, 13 bytes an edge and 1 MiB more; on CPU threads the computer's holds a copy of each, too. Throws
/// limit_error.
machine_csr transpose(executor& executor, machine_csr const& graph, stream_handle stream = nullptr);

}  // namespace lull
