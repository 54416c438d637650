// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/side_runner/graph_pieces.hpp>

#include <algorithm>
#include <array>

#include <lull/host/cuda/driver.hpp>
#include <lull/host/cuda_graph/graph_listing.hpp>
#include <lull/host/cuda_graph/graph_order.hpp>
#include <lull/host/cuda_graph/segment_nodes.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/kernels.hpp>

namespace lull::bench {

namespace {

using std::chrono::nanoseconds;

constexpr std::size_t timings = 5;  // of each piece; the first warms up

std::vector<std::uint64_t> read(device_buffer const& stamps_ns, std::size_t count, cudaStream_t stream) {
  std::vector<std::uint64_t> values(count);
  LULL_CUDA(
      cudaMemcpyAsync(values.data(), stamps_ns.get(), count * sizeof(std::uint64_t), cudaMemcpyDeviceToHost, stream));
  LULL_CUDA(cudaStreamSynchronize(stream));
  return values;
}

std::vector<nanoseconds> node_times(segment_nodes const& nodes, cudaStream_t stream) {
  std::size_t const count = nodes.count() + std::size_t{1};
  device_buffer const stamps_ns{count * sizeof(std::uint64_t)};
  cuda_graph const run{nodes.stamped(static_cast<std::uint64_t*>(stamps_ns.get())).release()};
  for (int i = 0; i < 2; ++i) LULL_CUDA(cudaGraphLaunch(run.executable(), stream));
  return without_stamps(read(stamps_ns, count, stream));
}

/// All nodes in the order in which segment_nodes has those that do something.
std::vector<cudaGraphNode_t> ordered_nodes(cudaGraph_t graph) {
  graph_listing const listed{graph};
  std::vector<cudaGraphNode_t> ordered;
  for (std::uint32_t const at : listed.order()) ordered.push_back(listed.nodes[at]);
  return ordered;
}

/// Which piece each of the ordered nodes is in. An empty node is in that of the node before it.
std::vector<std::uint32_t> pieces_of(std::span<cudaGraphNode_t const> nodes, std::span<std::uint32_t const> sizes) {
  std::vector<std::uint32_t> piece_of;
  std::uint32_t piece = 0;
  std::uint32_t in_piece = 0;
  for (cudaGraphNode_t const node : nodes) {
    cudaGraphNodeType type{};
    LULL_CUDA(cudaGraphNodeGetType(node, &type));
    if (type != cudaGraphNodeTypeEmpty) {
      if (in_piece == sizes[piece]) {
        ++piece;
        in_piece = 0;
      }
      ++in_piece;
    }
    piece_of.push_back(piece);
  }
  return piece_of;
}

cuda_graph clone_of(cudaGraph_t graph, std::span<cudaGraphNode_t const> removed) {
  cudaGraph_t made = nullptr;
  LULL_CUDA(cudaGraphClone(&made, graph));
  segment_nodes::graph clone{made};
  for (cudaGraphNode_t const node : removed) {
    cudaGraphNode_t in_clone = nullptr;
    LULL_CUDA(cudaGraphNodeFindInClone(&in_clone, node, made));
    LULL_CUDA(cudaGraphDestroyNode(in_clone));
  }
  return cuda_graph{clone.release()};
}

int current_device() {
  int device = 0;
  LULL_CUDA(cudaGetDevice(&device));
  return device;
}

}  // namespace

graph_pieces::graph_pieces(cudaGraph_t graph, nanoseconds wanted) {
  trainer::load();  // of kernels: later it would wait for the trainer
  if (wanted == nanoseconds{0}) {
    pieces_.push_back(clone_of(graph, {}));
  } else {
    cuda_stream const stream{priorities().lowest};
    segment_nodes const nodes{graph, detail::primary_context(current_device()), stream.get()};
    std::vector<std::uint32_t> const sizes = cut_by_time(node_times(nodes, stream.get()), wanted);
    std::vector<cudaGraphNode_t> const ordered = ordered_nodes(graph);
    std::vector<std::uint32_t> const piece_of = pieces_of(ordered, sizes);
    for (std::uint32_t piece = 0; piece < sizes.size(); ++piece) {
      std::vector<cudaGraphNode_t> removed;
      for (std::size_t at = 0; at < ordered.size(); ++at) {
        if (piece_of[at] != piece) removed.push_back(ordered[at]);
      }
      pieces_.push_back(clone_of(graph, removed));
    }
  }
  time_pieces();
}

void graph_pieces::time_pieces() {
  cuda_stream const stream{priorities().lowest};
  std::size_t const count = pieces_.size() + 1;
  device_buffer const memory{count * sizeof(std::uint64_t)};
  auto* const stamps_ns = static_cast<std::uint64_t*>(memory.get());
  std::vector<std::array<nanoseconds, timings>> took(pieces_.size());
  for (std::size_t run = 0; run <= timings; ++run) {
    trainer::wait_one_thread(stream.get(), 2'000'000, stamps_ns);  // meanwhile the host gets ahead
    for (std::size_t at = 0; at < pieces_.size(); ++at) {
      LULL_CUDA(cudaGraphLaunch(pieces_[at].executable(), stream.get()));
      trainer::stamp(stream.get(), stamps_ns + at + 1);
    }
    std::vector<std::uint64_t> const seen_ns = read(memory, count, stream.get());
    if (run == 0) continue;
    for (std::size_t at = 0; at < pieces_.size(); ++at) took[at][run - 1] = nanoseconds{seen_ns[at + 1] - seen_ns[at]};
  }
  for (auto& each : took) {
    std::nth_element(each.begin(), each.begin() + timings / 2, each.end());
    times_.push_back(each[timings / 2]);
  }
}

}  // namespace lull::bench
