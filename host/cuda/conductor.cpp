// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/conductor.hpp>

#include <lull/device/slot.hpp>
#include <lull/host/cuda/driver.hpp>
#include <lull/host/cuda/kernel_node.hpp>

namespace lull {

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
