// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace lull::detail {

/// Returns the parameters of a node for a kernel of this library.
CUDA_KERNEL_NODE_PARAMS kernel_node(void const* kernel, unsigned blocks, unsigned threads, void** arguments);
/// Adds a kernel to a graph. `where`: its context.
CUgraphNode add_kernel_node(CUgraph graph, CUDA_KERNEL_NODE_PARAMS const& what, CUcontext where,
                            CUgraphNode const* behind, CUgraphEdgeData const* edges, std::size_t count);

/// Converts an edge's data from the runtime's form to the driver's.
CUgraphEdgeData in_driver(cudaGraphEdgeData const& edge) noexcept;

}  // namespace lull::detail
