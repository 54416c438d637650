// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <lull/bench/graph/textbook/memory.hpp>
#include <lull/bench/graph/textbook/textbook.hpp>

namespace lull::bench {

/// Triangles of an oriented graph (graph/csr/oriented.hpp): a warp an edge looks up each element of the shorter row in
/// the longer one, by binary search.
///
/// Source: Hu, Liu, Huang, "TriCore: parallel triangle counting on GPUs", SC 2018 (binary search by a warp
/// an edge; the top of the tree in shared memory). One launch; no loop waits for the host.
std::unique_ptr<textbook> make_tricore(csr const& oriented);

}  // namespace lull::bench
