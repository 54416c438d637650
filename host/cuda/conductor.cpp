// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/conductor.hpp>

#include <lull/device/slot.hpp>
#include <lull/host/cuda/driver.hpp>
#include <lull/host/cuda/kernel_node.hpp>

namespace lull {

namespace {

CUDA_KERNEL_NODE_PARAMS one_thread(void const* kernel, void** arguments) {
  return detail::kernel_node(kernel, 1, 1, arguments);
}

/// Makes a graph whose only node, `node`, is that kernel.
cuda_graph graph_of(CUDA_KERNEL_NODE_PARAMS const& what, CUcontext where, unsigned long long flags, CUgraphNode& node) {
  detail::owned_graph made = detail::new_graph();
  node = detail::add_kernel_node(made.get(), what, where, nullptr, nullptr, 0);
  return cuda_graph{made.release(), flags};
}

}  // namespace

conductor_graph::conductor_graph(CUcontext where, void* relay, cudaStream_t stream) : where_(where), relay_(relay) {
  CUgraphNode its_node = nullptr;
  void* its_arguments[] = {&relay_};
  going_on_ = graph_of(one_thread(detail::going_on_kernel(), its_arguments), where_,
                       cudaGraphInstantiateFlagDeviceLaunch, its_node);
  LULL_CUDA(cudaGraphUpload(going_on_.executable(), stream));
  worker_params nowhere;
  cudaGraphExec_t next = going_on_.executable();
  void* arguments[] = {&nowhere, &relay_, &next};
  beginning_ = graph_of(one_thread(detail::conducting_worker().resident, arguments), where_, 0, begin_);
  LULL_CUDA(cudaGraphUpload(beginning_.executable(), stream));
}

void conductor_graph::launch(cudaStream_t stream, worker_params const& params) {
  cudaGraphExec_t next = going_on_.executable();
  void* arguments[] = {const_cast<worker_params*>(&params), &relay_, &next};
  CUDA_KERNEL_NODE_PARAMS node = one_thread(detail::conducting_worker().resident, arguments);
  node.ctx = where_;
  LULL_DRIVER(driver().set_executable_node(beginning_.executable(), begin_, &node));
  LULL_CUDA(cudaGraphLaunch(beginning_.executable(), stream));
}

}  // namespace lull
