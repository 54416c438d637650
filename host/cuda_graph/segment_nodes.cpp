// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda_graph/segment_nodes.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <lull/host/cuda/captured.hpp>
#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/driver.hpp>
#include <lull/host/cuda/kernel_node.hpp>
#include <lull/host/cuda_graph/graph_listing.hpp>
#include <lull/host/cuda_graph/kernel_name.hpp>
#include <lull/host/error.hpp>

namespace lull {

namespace {

constexpr unsigned bytes_a_block = 256 * 16 * 2;  // of a copy or memset
constexpr unsigned max_blocks = 1024;

char const* name_of(cudaGraphNodeType type) {
  switch (type) {
    case cudaGraphNodeTypeHost:
      return "a call of a host function";
    case cudaGraphNodeTypeGraph:
      return "a graph within the graph";
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord:
      return "an event of another stream";
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
      return "a semaphore of another library";
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree:
      return "an allocation: allocate before the capture";
    case cudaGraphNodeTypeConditional:
      return "a conditional node";
    default:
      return "a node of an unknown kind";
  }
}

[[noreturn]] void refuse(std::size_t number, std::string const& what) {
  throw usage_error{
      "node " + std::to_string(number) + " of the graph is " + what +
      "; a graph as side work may hold kernels, copies between arrays of the device or pinned memory, and "
      "memsets"};
}

/// Returns whether kernels of this device can reach it.
bool is_reachable(void const* memory) {
  cudaPointerAttributes found{};
  int device = 0;
  LULL_CUDA(cudaPointerGetAttributes(&found, memory));
  LULL_CUDA(cudaGetDevice(&device));
  bool const another = found.type == cudaMemoryTypeDevice && found.device != device;
  return found.devicePointer == memory && !another;
}

/// Decides by the context of the stream on which a kernel was captured. False also if that context is gone.
bool is_of_another_device(CUcontext context) {
  int ours = 0;
  LULL_CUDA(cudaGetDevice(&ours));
  int its = ours;
  if (context == nullptr || driver().push_context(context) != CUDA_SUCCESS) return false;
  cudaError_t const asked = cudaGetDevice(&its);
  CUcontext popped{};
  LULL_DRIVER(driver().pop_context(&popped));
  LULL_CUDA(asked);
  return its != ours;
}

detail::copied_bytes copy_of(cudaGraphNode_t node, std::size_t number) {
  cudaMemcpy3DParms what{};
  LULL_CUDA(cudaGraphMemcpyNodeGetParams(node, &what));
  if (what.srcArray != nullptr || what.dstArray != nullptr) refuse(number, "a copy of a CUDA array");
  auto const at = [](cudaPitchedPtr const& base, cudaPos const& from) {
    return static_cast<unsigned char*>(base.ptr) + (from.z * base.ysize + from.y) * base.pitch + from.x;
  };
  detail::copied_bytes copied{.to = at(what.dstPtr, what.dstPos),
                              .from = at(what.srcPtr, what.srcPos),
                              .to_pitch = what.dstPtr.pitch,
                              .from_pitch = what.srcPtr.pitch,
                              .to_slice = what.dstPtr.pitch * what.dstPtr.ysize,
                              .from_slice = what.srcPtr.pitch * what.srcPtr.ysize,
                              .width = what.extent.width,
                              .height = what.extent.height,
                              .depth = what.extent.depth};
  bool const copies = copied.width != 0 && copied.height != 0 && copied.depth != 0;
  if (copies && !(is_reachable(copied.to) && is_reachable(copied.from)))
    refuse(number, "a copy from or to pageable memory, or another device's");
  // Merge rows, or slices, without a gap into one.
  if (copied.width == copied.to_pitch && copied.width == copied.from_pitch) {
    copied.width *= std::exchange(copied.height, 1);
    copied.to_pitch = copied.from_pitch = copied.width;
  }
  if (copied.height == 1 &&
      (copied.depth == 1 || (copied.width == copied.to_slice && copied.width == copied.from_slice))) {
    copied.width *= std::exchange(copied.depth, 1);
    copied.to_pitch = copied.from_pitch = copied.to_slice = copied.from_slice = copied.width;
  }
  return copied;
}

detail::filled_bytes fill_of(cudaGraphNode_t node, std::size_t number) {
  cudaMemsetParams what{};
  LULL_CUDA(cudaGraphMemsetNodeGetParams(node, &what));
  if (what.width != 0 && what.height != 0 && !is_reachable(what.dst))
    refuse(number, "a memset of another device's memory");
  bool const has_gaps = what.height > 1 && what.pitch != what.width * what.elementSize;
  return {.to = what.dst,
          .pitch = what.pitch,
          .width = has_gaps ? what.width : what.width * what.height,
          .height = has_gaps ? what.height : 1,
          .value = what.value,
          .element = what.elementSize};
}

/// Copies what a launch set for its kernel besides its grid; a zero was not set.
void copy_attributes(CUgraphNode from, CUgraphNode to) {
  constexpr std::array copied{CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
                              CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                              CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                              CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
                              CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
                              CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION,
                              CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT};
  for (auto const which : copied) {
    CUlaunchAttributeValue value{};
    if (driver().node_attribute(from, which, &value) != CUDA_SUCCESS) continue;  // the driver does not know it
    auto const* const bytes = reinterpret_cast<unsigned char const*>(&value);
    if (std::all_of(bytes, bytes + sizeof value, [](unsigned char byte) { return byte == 0; })) continue;
    LULL_DRIVER(driver().set_node_attribute(to, which, &value));
  }
}

unsigned blocks_for(std::size_t bytes) {
  return static_cast<unsigned>(std::clamp<std::size_t>((bytes + bytes_a_block - 1) / bytes_a_block, 1, max_blocks));
}

cudaGraphEdgeData in_runtime(CUgraphEdgeData const& edge) {
  cudaGraphEdgeData made{};
  made.from_port = edge.from_port;
  made.to_port = edge.to_port;
  made.type = static_cast<cudaGraphDependencyType>(edge.type);
  return made;
}

/// Returns whether what follows begins when the node has ended, and not before.
bool is_plain(CUgraphEdgeData const& edge) { return edge.type == 0 && edge.from_port == 0 && edge.to_port == 0; }

}  // namespace

segment_nodes::segment_nodes(cudaGraph_t graph, CUcontext where, cudaStream_t stream) : where_(where), stream_(stream) {
  graph_listing const listed{graph};
  auto const& [nodes, edges, data] = listed;
  std::vector<std::vector<std::size_t>> into(nodes.size());  // the edges that end at each node
  for (std::size_t at = 0; at < edges.size(); ++at) into[edges[at].second].push_back(at);
  // where an edge from each node really starts: an empty node is replaced by the nodes before it
  std::vector<std::vector<edge>> stands_for(nodes.size());
  for (std::uint32_t const original : listed.order()) {
    node next;
    next.original = nodes[original];
    next.number = original;
    for (std::size_t const at : into[original]) {
      std::uint32_t const from = edges[at].first;
      bool const is_real = stands_for[from].size() == 1 && nodes[from] == order_[stands_for[from][0].from].original;
      for (edge each : stands_for[from]) {
        if (is_real) each.data = detail::in_driver(data[at]);
        put(each, next.behind);
      }
    }
    LULL_CUDA(cudaGraphNodeGetType(next.original, &next.type));
    if (next.type == cudaGraphNodeTypeEmpty) {
      stands_for[original] = next.behind;
      continue;
    }
    read(next);
    stands_for[original].push_back({.from = static_cast<std::uint32_t>(order_.size()), .data = {}});
    order_.push_back(std::move(next));
  }
  if (order_.empty()) throw usage_error{"the graph is empty: capture the work first"};
  for (std::uint32_t at = 0; at < order_.size(); ++at) {
    if (!waits_for_peers(name(at))) continue;
    throw usage_error{title(at) +
                      ", waits for other GPUs, whose bubbles come at other times: take what ranks exchange out of it"};
  }
}

/// Keeps one edge between two nodes; a plain edge replaces another kind.
void segment_nodes::put(edge const& added, std::vector<edge>& into) {
  auto const same = std::find_if(into.begin(), into.end(), [&](edge const& each) { return each.from == added.from; });
  if (same == into.end()) {
    into.push_back(added);
  } else if (is_plain(added.data)) {
    same->data = {};
  }
}

void segment_nodes::read(node& into) {
  switch (into.type) {
    case cudaGraphNodeTypeKernel:
      LULL_DRIVER(driver().kernel_node(into.original, &into.kernel));
      if (is_of_another_device(into.kernel.ctx)) refuse(into.number, "a kernel of another device");
      break;
    case cudaGraphNodeTypeMemcpy:
      into.copied = copy_of(into.original, into.number);
      break;
    case cudaGraphNodeTypeMemset:
      into.filled = fill_of(into.original, into.number);
      break;
    default:
      refuse(into.number, name_of(into.type));
  }
}

std::string segment_nodes::title(std::uint32_t at) const {
  return "node " + std::to_string(order_.at(at).number) + " of the graph, " + name(at);
}

std::string segment_nodes::name(std::uint32_t at) const {
  node const& of = order_.at(at);
  if (of.type == cudaGraphNodeTypeMemcpy) return "copy";
  if (of.type == cudaGraphNodeTypeMemset) return "memset";
  char const* name = nullptr;
  CUresult const found = of.kernel.kern != nullptr ? driver().kernel_name(&name, of.kernel.kern)
                                                   : driver().function_name(&name, of.kernel.func);
  return found == CUDA_SUCCESS && name != nullptr ? readable_name(name) : "kernel";
}

CUgraphNode segment_nodes::add(CUgraph graph, node const& what, std::vector<CUgraphNode> const& behind,
                               std::vector<CUgraphEdgeData> const& edges) const {
  auto const added = [&](CUDA_KERNEL_NODE_PARAMS const& kernel) {
    return detail::add_kernel_node(graph, kernel, where_, behind.data(), edges.data(), behind.size());
  };
  if (what.type == cudaGraphNodeTypeMemcpy) {
    void* arguments[] = {const_cast<detail::copied_bytes*>(&what.copied)};
    unsigned const blocks = blocks_for(what.copied.width * what.copied.height * what.copied.depth);
    return added(detail::kernel_node(detail::copy_kernel(), blocks, 256, arguments));
  }
  if (what.type == cudaGraphNodeTypeMemset) {
    void* arguments[] = {const_cast<detail::filled_bytes*>(&what.filled)};
    unsigned const blocks = blocks_for(what.filled.width * what.filled.height * what.filled.element);
    return added(detail::kernel_node(detail::fill_kernel(), blocks, 256, arguments));
  }
  CUgraphNode const made =
      what.kernel.kern != nullptr ? added(what.kernel) : add_function(graph, what.kernel, behind, edges);
  copy_attributes(what.original, made);
  return made;
}

/// A kernel of a module, such as Triton's, is bound to the context that loaded the module, and a node that is added for
/// it runs on all SMs. Captured on a stream of the workers' context, it keeps to their SMs.
CUgraphNode segment_nodes::add_function(CUgraph graph, CUDA_KERNEL_NODE_PARAMS const& what,
                                        std::vector<CUgraphNode> const& behind,
                                        std::vector<CUgraphEdgeData> const& edges) const {
  std::vector<cudaGraphEdgeData> data(edges.size());
  std::transform(edges.begin(), edges.end(), data.begin(), in_runtime);
  LULL_CUDA(cudaStreamBeginCaptureToGraph(stream_, graph, behind.data(), data.data(), behind.size(),
                                          cudaStreamCaptureModeRelaxed));
  CUlaunchConfig how{};
  how.gridDimX = what.gridDimX;
  how.gridDimY = what.gridDimY;
  how.gridDimZ = what.gridDimZ;
  how.blockDimX = what.blockDimX;
  how.blockDimY = what.blockDimY;
  how.blockDimZ = what.blockDimZ;
  how.sharedMemBytes = what.sharedMemBytes;
  how.hStream = stream_;
  CUresult const launched = driver().launch_kernel(&how, what.func, what.kernelParams, what.extra);
  auto const found = detail::graph_under_capture(stream_);
  cudaGraph_t same{};
  cudaError_t const ended = cudaStreamEndCapture(stream_, &same);
  LULL_DRIVER(launched);
  LULL_CUDA(ended);
  return found.value().behind.at(0);
}

segment_nodes::graph segment_nodes::segment(std::uint32_t begin, std::uint32_t end, void** arguments) const {
  graph into = detail::new_graph();
  std::vector<CUgraphNode> made;
  std::vector<bool> is_last(end - begin, true);
  for (std::uint32_t at = begin; at < end; ++at) {
    std::vector<CUgraphNode> behind;
    std::vector<CUgraphEdgeData> edges;
    for (edge const& each : order_[at].behind) {
      if (each.from < begin) continue;  // it ran in an earlier segment
      behind.push_back(made[each.from - begin]);
      edges.push_back(each.data);
      if (is_plain(each.data)) is_last[each.from - begin] = false;
    }
    made.push_back(add(into.get(), order_[at], behind, edges));
  }
  std::vector<CUgraphNode> last;
  for (std::uint32_t at = 0; at < made.size(); ++at) {
    if (is_last[at]) last.push_back(made[at]);
  }
  std::vector<CUgraphEdgeData> const plain(last.size());
  detail::add_kernel_node(into.get(),
                          detail::kernel_node(detail::proceed_kernel(), 1, detail::proceed_threads, arguments), where_,
                          last.data(), plain.data(), last.size());
  return into;
}

segment_nodes::graph segment_nodes::stamped(std::uint64_t* stamps_ns) const {
  graph into = detail::new_graph();
  std::vector<CUgraphNode> last;
  auto const stamp = [&] {
    void* arguments[] = {&stamps_ns};
    std::vector<CUgraphEdgeData> const plain(last.size());
    last = {detail::add_kernel_node(into.get(), detail::kernel_node(detail::stamp_kernel(), 1, 1, arguments), where_,
                                    last.data(), plain.data(), last.size())};
    ++stamps_ns;
  };
  stamp();
  stamp();
  for (node const& each : order_) {
    last = {add(into.get(), each, last, std::vector<CUgraphEdgeData>(1))};
    stamp();
  }
  return into;
}

}  // namespace lull
