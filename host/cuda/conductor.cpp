// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/conductor.hpp>

#include <lull/device/slot.hpp>
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
  node.kernel.func = what.kern != nullptr ? nullptr : what.func;  // with that the context would be ignored
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

conductor_graph::conductor_graph(CUcontext where, void* relay, cudaStream_t stream) : where_(where), relay_(relay) {
  cudaGraph_t made = nullptr;
  LULL_CUDA(cudaGraphCreate(&made, 0));
  graph_.reset(made);
  worker_params nowhere;
  void* arguments[] = {&nowhere, &relay_};
  begin_ = detail::add_kernel_node(made, detail::kernel_node(detail::conducting_worker().resident, 1, 1, arguments),
                                   where_, nullptr, nullptr, 0);
  for (auto& each : executables_) {
    cudaGraphExec_t executable = nullptr;
    LULL_CUDA(cudaGraphInstantiate(&executable, made, cudaGraphInstantiateFlagDeviceLaunch));
    each.reset(executable);
    LULL_CUDA(cudaGraphUpload(executable, stream));
  }
}

void conductor_graph::launch(cudaStream_t stream, worker_params const& params) {
  cudaGraphExec_t const executable = executables_.at(next_).get();
  next_ = (next_ + 1) % executables;
  void* arguments[] = {const_cast<worker_params*>(&params), &relay_};
  CUDA_KERNEL_NODE_PARAMS node = detail::kernel_node(detail::conducting_worker().resident, 1, 1, arguments);
  node.ctx = where_;
  LULL_DRIVER(driver().set_executable_node(executable, begin_, &node));
  LULL_CUDA(cudaGraphLaunch(executable, stream));
}

}  // namespace lull
