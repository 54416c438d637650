// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/kernel_node.hpp>

#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/driver.hpp>

namespace lull {

CUDA_KERNEL_NODE_PARAMS detail::kernel_node(void const* kernel, unsigned blocks, unsigned threads, void** arguments) {
  cudaKernel_t handle{};
  LULL_CUDA(cudaGetKernel(&handle, kernel));
  CUDA_KERNEL_NODE_PARAMS made{};
  made.kern = reinterpret_cast<CUkernel>(handle);
  made.gridDimX = blocks;
  made.blockDimX = threads;
  made.gridDimY = made.gridDimZ = made.blockDimY = made.blockDimZ = 1;
  made.kernelParams = arguments;
  return made;
}

CUgraphNode detail::add_kernel_node(CUgraph graph, CUDA_KERNEL_NODE_PARAMS const& what, CUcontext where,
                                    CUgraphNode const* behind, CUgraphEdgeData const* edges, std::size_t count) {
  CUgraphNodeParams node{};
  node.type = CU_GRAPH_NODE_TYPE_KERNEL;
  node.kernel.kern = what.kern;
  node.kernel.func = what.kern != nullptr ? nullptr : what.func;  // with `func` set the context would be ignored
  node.kernel.ctx = where;
  node.kernel.gridDimX = what.gridDimX;
  node.kernel.gridDimY = what.gridDimY;
  node.kernel.gridDimZ = what.gridDimZ;
  node.kernel.blockDimX = what.blockDimX;
  node.kernel.blockDimY = what.blockDimY;
  node.kernel.blockDimZ = what.blockDimZ;
  node.kernel.sharedMemBytes = what.sharedMemBytes;
  node.kernel.kernelParams = what.kernelParams;
  node.kernel.extra = what.extra;
  CUgraphNode made{};
  LULL_DRIVER(driver().add_node(&made, graph, behind, edges, count, &node));
  return made;
}

CUgraphEdgeData detail::in_driver(cudaGraphEdgeData const& edge) noexcept {
  CUgraphEdgeData made{};
  made.from_port = edge.from_port;
  made.to_port = edge.to_port;
  made.type = edge.type;
  return made;
}

}  // namespace lull
