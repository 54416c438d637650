// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <lull/device/gated_graph.hpp>
#include <lull/host/array.hpp>
#include <lull/host/cuda/executor.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/cuda_graph/graph_task.hpp>
#include <lull/host/cuda_graph/segment_nodes.hpp>

namespace lull {

/// A graph that has been cut, with all that the conductor needs on the machine.
class gated_program {
 public:
  /// Runs the first step. Throws as `submit` of a graph_task.
  gated_program(cuda_executor& machine, graph_task const& work);
  gated_program(gated_program const&) = delete;
  gated_program& operator=(gated_program const&) = delete;

  /// The job is over, and a tick of the dispatcher has passed since: the graph of its last segment has ended.
  ~gated_program();
  gated_graph functor() const noexcept;
  cut_graph const& cut() const noexcept { return cut_; }
  std::vector<closed_piece> closed_pieces() const;

 private:
  using executable = detail::owned_handle<cudaGraphExec_t, cudaGraphExecDestroy>;

  int const device_;
  graph_task const work_;
  machine_array<std::byte> kept_;
  cut_graph cut_;
  std::vector<executable> executables_;
  std::vector<std::string> slowest_;  // kernel of each segment of a step
  machine_array<graph_segment> segments_;
};

}  // namespace lull
