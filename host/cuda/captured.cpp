// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/captured.hpp>

#include <algorithm>
#include <utility>

#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/driver.hpp>
#include <lull/host/cuda/kernel_handle.hpp>
#include <lull/host/cuda/kernel_node.hpp>
#include <lull/host/cuda/kernels.hpp>

namespace lull::detail {

namespace {

/// Longer than any block takes whose chunks have bounded length.
constexpr std::uint64_t max_wait_ns = 50'000;

CUgraphEdgeData edge_of(bool ahead) {
  CUgraphEdgeData edge{};
  if (ahead) {
    edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
    edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  }
  return edge;
}

CUgraphNode add_kernel(CUgraph graph, std::vector<CUgraphNode> const& behind, std::vector<CUgraphEdgeData> const& edges,
                       worker_launch const& how, void** arguments) {
  cudaKernel_t kernel{};
  LULL_CUDA(lookup_of(how.runtime)(&kernel, how.resident));
  CUDA_KERNEL_NODE_PARAMS what{};
  what.kern = reinterpret_cast<CUkernel>(kernel);
  what.gridDimX = how.blocks;
  what.blockDimX = static_cast<unsigned>(how.shape.threads);
  what.gridDimY = what.gridDimZ = what.blockDimY = what.blockDimZ = 1;
  what.sharedMemBytes = static_cast<unsigned>(how.shape.shared_bytes);
  what.kernelParams = arguments;
  return add_kernel_node(graph, what, how.context, behind.data(), edges.data(), behind.size());
}

worker_launch one_thread(void const* kernel) {
  return {.resident = kernel, .blocks = 1, .shape = {.threads = 1, .steps = 1, .shared_bytes = 0, .blocks_per_sm = 1}};
}

}  // namespace

std::optional<captured_graph> graph_under_capture(cudaStream_t stream) {
  captured_graph found;
  found.stream = stream;
  cudaStreamCaptureStatus status{};
  unsigned long long id = 0;
  cudaGraph_t graph{};
  cudaGraphNode_t const* behind = nullptr;
  cudaGraphEdgeData const* edges = nullptr;
  std::size_t count = 0;
  cudaError_t const trainers = cudaPeekAtLastError();
  cudaError_t const code = cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &behind, &edges, &count);
  if (code != cudaSuccess) {  // the legacy stream cannot be asked while another is being captured
    if (trainers == cudaSuccess) cudaGetLastError();  // clears only our own error: the trainer must still find its own
    return found;
  }
  if (status == cudaStreamCaptureStatusNone) return std::nullopt;
  if (status != cudaStreamCaptureStatusActive) return found;
  found.id = id;
  found.graph = graph;
  found.behind.assign(behind, behind + count);
  found.edges.resize(count);
  if (edges != nullptr) std::transform(edges, edges + count, found.edges.begin(), in_driver);
  return found;
}

CUgraphNode add_open_edge(captured_graph const& graph, gate_ref gate, std::uint32_t value) {
  void* arguments[] = {&gate, &value};
  return add_kernel(graph.graph, graph.behind, graph.edges, one_thread(open_captured_edge()), arguments);
}

void add_nothing(captured_graph const& graph, CUgraphNode opening) {
  gate_ref nowhere;
  std::uint32_t value = 0;
  void* arguments[] = {&nowhere, &value};
  add_kernel(graph.graph, {opening}, {edge_of(true)}, one_thread(open_captured_edge()), arguments);
}

void add_worker(captured_graph const& graph, CUgraphNode opening, worker_launch const& how,
                worker_params const& params) {
  void* arguments[] = {const_cast<worker_params*>(&params)};
  add_kernel(graph.graph, {opening}, {edge_of(how.context == nullptr)}, how, arguments);
}

void add_close_edge(captured_graph const& graph, gate_ref gate, std::uint32_t value, std::uint32_t site,
                    CUgraphNode opening) {
  std::vector<CUgraphNode> behind{opening};
  std::vector<CUgraphEdgeData> edges{edge_of(false)};
  behind.insert(behind.end(), graph.behind.begin(), graph.behind.end());
  edges.insert(edges.end(), graph.edges.begin(), graph.edges.end());
  std::uint64_t most = max_wait_ns;
  void* arguments[] = {&gate, &value, &site, &most};
  cudaGraphNode_t closing = add_kernel(graph.graph, behind, edges, one_thread(close_captured_edge()), arguments);
  LULL_CUDA(cudaStreamUpdateCaptureDependencies(graph.stream, &closing, nullptr, 1, cudaStreamSetCaptureDependencies));
}

void keep_with(captured_graph const& graph, std::shared_ptr<void const> what) {
  auto held = std::make_unique<std::shared_ptr<void const>>(std::move(what));
  cudaUserObject_t object{};
  // A thread of the driver calls this, and may not call CUDA: it only releases the reference.
  auto const let_go = [](void* kept) { delete static_cast<std::shared_ptr<void const>*>(kept); };
  LULL_CUDA(cudaUserObjectCreate(&object, held.get(), let_go, 1, cudaUserObjectNoDestructorSync));
  held.release();
  LULL_CUDA(cudaGraphRetainUserObject(graph.graph, object, 1, cudaGraphUserObjectMove));
}

}  // namespace lull::detail
