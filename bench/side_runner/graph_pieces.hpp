// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include <lull/host/cuda/owned.hpp>

namespace lull::bench {

/// A graph as pieces that the host launches one after another: contiguous in a topological order of its nodes.
class graph_pieces {
 public:
  /// Runs the graph a few times on a stream of its own to time nodes and pieces, and blocks meanwhile. It is cut where
  /// Lull cuts a step for segments of `wanted`; 0: the graph is one piece. Throws usage_error and cuda_error.
  graph_pieces(cudaGraph_t graph, std::chrono::nanoseconds wanted);

  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(pieces_.size()); }
  cudaGraphExec_t at(std::uint32_t piece) const { return pieces_.at(piece).executable(); }
  /// How long each takes where pieces are launched without a pause.
  std::span<std::chrono::nanoseconds const> times() const noexcept { return times_; }

 private:
  void time_pieces();

  std::vector<cuda_graph> pieces_;
  std::vector<std::chrono::nanoseconds> times_;
};

}  // namespace lull::bench
