// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>
#include <lull/host/runtime.hpp>

struct CUgraph_st;

namespace lull {

/// A CUDA graph as side work: of kernels, copies and memsets, on the runtime's device, such as a captured PyTorch step.
struct graph_task {
  CUgraph_st* graph = nullptr;  // a cudaGraph_t; only read, and only by the call that submits it
  std::uint64_t steps = 1;      // how often the graph runs
  std::string name = "graph";
  int priority = 0;
  /// A step behind the first begins only when job::feed has said that there are more than the steps before it.
  bool is_fed = false;
  /// About how long the pieces are that run between two looks at the gate: what a bubble that closes waits for. A node
  /// that takes longer stands alone; others may make a piece half as long again.
  std::chrono::nanoseconds segment = std::chrono::microseconds{100};
  /// A graph with a node that takes longer is refused.
  std::chrono::nanoseconds longest = std::chrono::milliseconds{2};
};

/// Submits the graph as a job. A step is a round of the job, and a node an item. The call runs the first step at once,
/// to see how long each node takes, and cuts the graph into segments by that. Kernels behind these look at the gate and
/// launch the next one: so the job yields within a segment, without the host. Its kernels keep to the SMs of workers.
/// It waits for no stream: what the first step reads must be complete. All that the graph reads and writes must live
/// until `job::wait` has returned true.
///
/// Blocks for the first step, which runs beside the trainer's work, and while the segments are made, up to a
/// millisecond each: call it before training starts, or off the trainer's path. In captured bubbles the job waits.
/// Thread-safe. Throws usage_error for a graph that cannot be run so, with the node's kind or kernel and what to do;
/// or a runtime whose mode is not on; limit_error; device_error. Then nothing was queued, but the first step may have
/// run.
job submit(runtime& side, graph_task const& work);

/// How a graph was cut.
struct cut_graph {
  std::uint32_t nodes = 0;
  std::uint32_t segments = 0;            // of a step
  std::chrono::nanoseconds step{0};      // what its nodes took, one after another
  std::chrono::nanoseconds max_node{0};  // what the slowest of them took
  std::string max_node_name;             // its kernel
};
/// In one line.
std::string text_of(cut_graph const& cut);

/// The same in two parts: the job may be given further properties before it is submitted. `machine` must outlive it.
/// `cut`, if not null, receives how the graph was cut.
job_description describe(executor& machine, graph_task const& work, cut_graph* cut = nullptr);

}  // namespace lull
