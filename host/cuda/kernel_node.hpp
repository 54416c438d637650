// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace lull::detail {

/// A kernel of this library as a node.
CUDA_KERNEL_NODE_PARAMS kernel_node(void const* kernel, unsigned blocks, unsigned threads, void** arguments);
/// Adds a kernel to a graph. `where`: its context.
CUgraphNode add_kernel_node(CUgraph graph, CUDA_KERNEL_NODE_PARAMS const& what, CUcontext where,
                            CUgraphNode const* behind, CUgraphEdgeData const* edges, std::size_t count);

/// The driver's own form of what the runtime tells of an edge.
CUgraphEdgeData in_driver(cudaGraphEdgeData const& edge) noexcept;

}  // namespace lull::detail
