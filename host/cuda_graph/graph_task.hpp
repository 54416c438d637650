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

/// Whether a graph uses how long a site's bubbles were lately. `learnt`: several segments run without a look between
/// them while the end of the bubble is far; and where lengths repeat themselves, a segment that would outlast the
/// bubble is not begun. `off`: it uses the gate alone.
enum class length_hint { learnt, off };

/// A node of a graph took longer than `graph_task::node_limit`.
class slow_node_error : public limit_error {
 public:
  using limit_error::limit_error;
};

/// A CUDA graph as side work: of kernels, copies and memsets, on the runtime's device, such as a captured PyTorch step.
struct graph_task {
  CUgraph_st* graph = nullptr;  // a cudaGraph_t; only read, and only by the call that submits it
  std::uint64_t steps = 1;      // how often the graph runs; the first runs at once, the job ends in a bubble
  std::string name = "graph";
  int priority = 0;
  /// A step behind the first begins only when job::feed has said that there are more than the steps before it.
  bool is_fed = false;
  /// About how long the pieces are that run between two looks at the gate: what a bubble that closes waits for. A node
  /// that takes longer stands alone; others may make a piece half as long again.
  std::chrono::nanoseconds segment = std::chrono::microseconds{100};
  /// A graph with a node that takes longer is refused. If it took longer once, that may be chance: where the graph is
  /// not fed, up to two further steps run at once. A fed graph may be submitted again once its memory is put back.
  std::chrono::nanoseconds node_limit = std::chrono::milliseconds{2};
  length_hint hint = length_hint::learnt;
  std::shared_ptr<job_memory> memory{};  // as of a job_description
  bool may_go_back = false;              // the graph writes nothing that is not in `memory`
};

/// A stream on the SMs of workers, where a graph may be warmed up and captured: libraries that choose kernels by trying
/// them choose kernels that can run there. It belongs to the runtime, and goes with it. Every call gives another:
/// libraries keep memory that kernels work in a stream, as PyTorch does for cuBLAS, and graphs that were captured on
/// one stream write into each other's where their jobs run by turns. When a job is over, the next may have its stream.
/// Not for the trainer's work: its priority is the lowest. Throws usage_error without CUDA, or as `submit` where
/// nothing would keep a graph off the reserved SMs; limit_error above 1,024.
stream_handle graph_stream(runtime& side);

/// Submits the graph as a job. A step is a round of the job, and a node an item. The call runs the first step at once,
/// to see how long each node takes, and cuts the graph into segments by that. Kernels behind these look at the gate and
/// launch the next one: so the job yields within a segment, without the host. Its kernels keep to the SMs of workers.
/// It waits for no stream: what the first step reads must be complete. All that the graph reads and writes must live
/// until `job::wait` has returned true.
///
/// Blocks for the first step, which runs beside the trainer's work, and while the segments are made, up to a
/// millisecond each: call it before training starts, or off the trainer's path. In captured bubbles the job waits.
/// Thread-safe. Throws usage_error for a graph that cannot be run so, with the node's kind or kernel and what to do;
/// or a runtime whose mode is not on; slow_node_error for a node that takes longer than `node_limit`; limit_error;
/// device_error. Then nothing was queued, but the first step may have run, and up to three for a slow node.
job submit(runtime& side, graph_task const& work);

/// How a graph was cut.
struct cut_graph {
  std::uint32_t nodes = 0;
  std::uint32_t segments = 0;            // of a step
  std::chrono::nanoseconds step{0};      // what its nodes took, one after another
  std::chrono::nanoseconds max_node{0};  // what the slowest of them took
  std::string max_node_name;             // its kernel
  std::weak_ptr<gated_program const> program;
};
/// In one line.
std::string text_of(cut_graph const& cut);

/// A piece of a graph that bubbles closed on: each waited for it at most as long as it takes.
struct closed_piece {
  std::uint64_t bubbles = 0;
  std::chrono::nanoseconds took{0};
  std::string max_node_name;  // its slowest kernel
};
/// So far, in the order of what they may have cost. Blocks for a small copy. Empty when the job is gone. Thread-safe,
/// but not beside the runtime's end. Throws device_error.
std::vector<closed_piece> closed_pieces(cut_graph const& cut);
/// In a line or two: over all bubbles that closed on a piece, how long it took, and the kernels that may have cost
/// most.
std::string text_of(std::span<closed_piece const> pieces);

/// `submit` of a graph in two parts: the job may be given further properties before it is submitted, once, to the
/// runtime of `machine`, which must outlive it. Runs the first step, also where the runtime's mode is not on. `cut`, if
/// not null, receives how the graph was cut. Thread-safe. Throws as `submit` does.
job_description describe(executor& executor, graph_task const& work, cut_graph* cut = nullptr);

}  // namespace lull
