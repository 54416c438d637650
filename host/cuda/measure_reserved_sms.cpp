// SPDX-License-Identifier: Apache-2.0
#include <lull/host/reserved_sms.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

#include <lull/host/cuda/device_guard.hpp>
#include <lull/host/cuda/driver.hpp>
#include <lull/host/cuda/owned.hpp>

namespace lull {
namespace {

constexpr int deepest = 8;  // levels of nested graphs

/// Captures a stream until `end`, in relaxed mode: the trainer's libraries may allocate and load.
class capture {
 public:
  explicit capture(cudaStream_t stream) : stream_(stream) {
    LULL_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
  }
  ~capture() {
    if (!ended_) cudaStreamEndCapture(stream_, &graph_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
    cudaGetLastError();
  }
  capture(capture const&) = delete;
  capture& operator=(capture const&) = delete;

  cudaGraph_t end() {
    ended_ = true;
    LULL_CUDA(cudaStreamEndCapture(stream_, &graph_));
    return graph_;
  }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  bool ended_ = false;
};

std::uint32_t attribute(CUDA_KERNEL_NODE_PARAMS const& node, CUfunction_attribute which, CUdevice device) {
  int value = 0;
  if (node.func != nullptr) {
    LULL_DRIVER(driver().function_attribute(&value, which, node.func));
  } else {
    LULL_DRIVER(driver().kernel_attribute(&value, which, node.kern, device));
  }
  return static_cast<std::uint32_t>(std::max(value, 0));
}

/// Returns the blocks of a cluster: given at the launch, or fixed when the kernel was compiled.
std::uint32_t cluster_of(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS const& what, CUdevice device) {
  CUlaunchAttributeValue said{};
  LULL_DRIVER(driver().node_attribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &said));
  auto const fixed = [&](CUfunction_attribute which) { return std::max(1U, attribute(what, which, device)); };
  std::uint32_t const compiled = fixed(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH) *
                                 fixed(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT) *
                                 fixed(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
  return std::max({1U, said.clusterDim.x * said.clusterDim.y * said.clusterDim.z, compiled});
}

kernel_shape shape_of(CUgraphNode node, CUdevice device) {
  // Ask the driver, not the runtime: NCCL contains its own runtime, whose kernels ours does not know.
  CUDA_KERNEL_NODE_PARAMS what{};
  LULL_DRIVER(driver().kernel_node(node, &what));
  return {.blocks = what.gridDimX * what.gridDimY * what.gridDimZ,
          .threads = what.blockDimX * what.blockDimY * what.blockDimZ,
          .cluster = cluster_of(node, what, device),
          .registers = attribute(what, CU_FUNC_ATTRIBUTE_NUM_REGS, device),
          .shared_bytes = what.sharedMemBytes + attribute(what, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, device)};
}

void collect(cudaGraph_t graph, CUdevice device, int depth, std::vector<kernel_shape>& into) {
  if (depth > deepest)
    throw limit_error{"the exchange's graph nests graphs more than 8 deep: capture a simpler exchange"};
  std::size_t count = 0;
  LULL_CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  if (count != 0) LULL_CUDA(cudaGraphGetNodes(graph, nodes.data(), &count));
  for (cudaGraphNode_t const node : nodes) {
    cudaGraphNodeType type{};
    LULL_CUDA(cudaGraphNodeGetType(node, &type));
    if (type == cudaGraphNodeTypeKernel) into.push_back(shape_of(node, device));
    if (type != cudaGraphNodeTypeGraph) continue;
    cudaGraph_t inner{};
    LULL_CUDA(cudaGraphChildGraphNodeGetGraph(node, &inner));
    collect(inner, device, depth + 1, into);
  }
}

sm_capacity capacity_of(int device) {
  auto const ask = [&](cudaDeviceAttr which) {
    int value = 0;
    LULL_CUDA(cudaDeviceGetAttribute(&value, which, device));
    return static_cast<std::uint32_t>(value);
  };
  return {.threads = ask(cudaDevAttrMaxThreadsPerMultiProcessor),
          .blocks = ask(cudaDevAttrMaxBlocksPerMultiprocessor),
          .registers = ask(cudaDevAttrMaxRegistersPerMultiprocessor),
          .shared_bytes = ask(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
          .reserved_shared_bytes = ask(cudaDevAttrReservedSharedMemoryPerBlock)};
}

std::string line_of(exchange_need const& need, int groups_each) {
  if (need.kernels == 0) return "the exchange launches no kernel: no room is needed";
  char text[256];
  std::snprintf(text, sizeof text,
                "the largest of %u kernels of the exchange has %u blocks (channels) of %u threads in clusters of %u, "
                "%u registers, "
                "%u KiB of shared memory and needs %d reserved groups; %d resident at once need %d",
                need.kernels, need.largest.blocks, need.largest.threads, need.largest.cluster, need.largest.registers,
                need.largest.shared_bytes / 1024, groups_each, need.resident, need.reserved_groups);
  return text;
}

}  // namespace

exchange_need measure_reserved_groups(int device, std::function<void(stream_handle)> const& exchange, int resident) {
  if (std::string const why = why_no_cuda(device); !why.empty()) throw usage_error{why};
  if (resident < 1)
    throw usage_error{"resident is " + std::to_string(resident) +
                      ": it must be 1 or more, the kernels of the exchange that are on the device at once"};
  if (!driver().can_read_graphs())
    throw usage_error{"this CUDA driver cannot say what a graph holds: install driver 525 or later"};
  cuda_device_guard const here{device};
  CUdevice handle{};
  LULL_DRIVER(driver().device_get(&handle, device));
  cuda_stream const stream{0};
  std::vector<kernel_shape> kernels;
  {
    capture captured{stream.get()};
    exchange(stream.get());
    collect(captured.end(), handle, 0, kernels);
  }
  exchange_need need{.kernels = static_cast<std::uint32_t>(kernels.size()), .resident = resident};
  sm_capacity const sm = capacity_of(device);
  int each = 0;
  for (kernel_shape const& kernel : kernels) {
    int const reserved_groups = reserved_groups_for(kernel, sm);
    if (reserved_groups > each) {
      each = reserved_groups;
      need.largest = kernel;
    }
  }
  need.reserved_groups = each * resident;
  need.text = line_of(need, each);
  return need;
}

}  // namespace lull
