// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>
#include <lull/host/runtime.hpp>

struct CUgraph_st;

namespace lull {

class gated_program;

/// Whether a graph uses the recent lengths of a site's bubbles. `learnt`: several segments run without a look between
/// them while the end of the bubble is far; and if lengths repeat, a segment that would outlast the bubble is not
/// begun. `off`: it uses the gate alone.
enum class length_hint { learnt, off };

/// A node of a graph took longer than `graph_task::node_limit`.
class slow_node_error : public limit_error {
 public:
  using limit_error::limit_error;
};

/// A CUDA graph as side work: of kernels, copies and memsets, on the runtime's device, such as a captured PyTorch step.
struct graph_task {
  CUgraph_st* graph = nullptr;  // a cudaGraph_t; only read, and only by the call that submits it
  std::uint64_t steps = 1;      // how often the graph runs; `submit` runs the first, and the job ends in a bubble
  std::string name = "graph";
  int priority = 0;
  /// Whether a step after the first begins only after job::feed has announced it.
  bool is_fed = false;
  /// About how long a piece runs between two looks at the gate: a bubble that closes waits for it. A longer node is a
  /// piece of its own; others may make a piece half as long again.
  std::chrono::nanoseconds segment = std::chrono::microseconds{100};
  /// A graph with a node that takes longer is refused. A single long time may be chance: a graph that is not fed runs
  /// up to two further steps at once. A fed graph may be submitted again after its memory was restored.
  std::chrono::nanoseconds node_limit = std::chrono::milliseconds{2};
  length_hint hint = length_hint::learnt;
  std::shared_ptr<job_memory> memory{};  // as in job_description
  bool may_go_back = false;              // the graph writes nothing outside `memory`
};

/// Returns a stream on the SMs of workers, where a graph may be warmed up and captured. Libraries that choose kernels
/// by trying them then choose kernels that can run there. The runtime owns the stream.
/// Every call returns another stream. Libraries keep memory in a stream in which kernels work, as PyTorch does for
/// cuBLAS: two graphs captured on one stream would write into each other's memory when their jobs run in turn. When a
/// job is over, the next may use its stream.
/// Not for the trainer's work: its priority is the lowest. Throws usage_error without CUDA, or as `submit` if nothing
/// would keep a graph off the reserved SMs; limit_error above 1,024.
stream_handle graph_stream(runtime& side);

/// Submits the graph as a job. A step is a round of the job, and a node an item. The call runs the first step at once
/// to time each node, and cuts the graph into segments by these times. A kernel after each segment looks at the gate
/// and launches the next one, so the job yields within a segment, without the host. Its kernels keep to the SMs of
/// workers. The call waits for no stream: what the first step reads must be complete. All that the graph reads and
/// writes must live until `job::wait` has returned true.
///
/// Blocks for the first step, which runs beside the trainer's work, and while the segments are made, up to a
/// millisecond each: call it before training starts, or off the trainer's path. In captured bubbles the job waits.
/// Thread-safe. Throws usage_error for a graph that cannot run as segments, with the node's kind or kernel and what to
/// do, or if the runtime's mode is not on; slow_node_error for a node that takes longer than `node_limit`; limit_error;
/// device_error. Then nothing was queued, but the first step may have run, and up to three for a slow node.
job submit(runtime& side, graph_task const& work);

/// How a graph was cut.
struct cut_graph {
  std::uint32_t nodes = 0;
  std::uint32_t segments = 0;            // of a step
  std::chrono::nanoseconds step{0};      // time of its nodes, one after another
  std::chrono::nanoseconds max_node{0};  // time of the slowest node
  std::string max_node_name;             // its kernel
  std::weak_ptr<gated_program const> program;
};
/// Returns the cut in one line.
std::string text_of(cut_graph const& cut);

/// A piece of a graph on which bubbles closed: each waited for it at most as long as it takes.
struct closed_piece {
  std::uint64_t bubbles = 0;
  std::chrono::nanoseconds took{0};
  std::string max_node_name;  // its slowest kernel
};
/// Returns the pieces so far, in the order of what they may have cost. Blocks for a small copy. Empty when the job is
/// gone. Thread-safe, except during the runtime's end. Throws device_error.
std::vector<closed_piece> closed_pieces(cut_graph const& cut);
/// Returns a line or two: over all bubbles that closed on a piece, how long it took, and the kernels that may have cost
/// most.
std::string text_of(std::span<closed_piece const> pieces);

/// Does the first part of `submit` for a graph: the caller may set further properties of the job, and then submits it
/// once to the runtime of `machine`, which must outlive it. Runs the first step, also if the runtime's mode is not on.
/// `cut`, if not null, receives how the graph was cut. Thread-safe. Throws as `submit` does.
job_description describe(executor& executor, graph_task const& work, cut_graph* cut = nullptr);

}  // namespace lull
