// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
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
  /// Runs the first step, or steps. Throws as `submit` of a graph_task.
  gated_program(cuda_executor& executor, graph_task const& work);
  gated_program(gated_program const&) = delete;
  gated_program& operator=(gated_program const&) = delete;

  /// Call when the job is over. Its last conductor may still run, so what it uses is buried.
  ~gated_program();
  gated_graph functor() const noexcept;
  cut_graph const& cut() const noexcept { return cut_; }
  std::uint64_t first_steps() const noexcept { return first_steps_; }
  std::vector<closed_piece> closed_pieces() const;

 private:
  /// What conductors use.
  struct conducted {
    explicit conducted(cuda_executor& executor);
    ~conducted();
    int const device;
    detail::owned_graph whole;  // a clone of the program's graph; keeps that graph's user objects alive
    device_array<std::byte> kept;
    std::vector<detail::owned_executable> executables;
    device_array<graph_segment> segments;
  };

  cuda_executor& executor_;
  graph_task const work_;
  std::shared_ptr<conducted> const conducted_;
  cut_graph cut_;
  std::uint64_t first_steps_ = 1;     // how many steps have run
  std::vector<std::string> slowest_;  // kernel of each segment of one step
};

}  // namespace lull
