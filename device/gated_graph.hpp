// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/position.hpp>
#include <lull/device/side_task.hpp>

namespace lull {

/// Whole nodes of a graph that run between two looks at the gate.
struct graph_segment {
  void* executable = nullptr;  // what the device launches
  std::uint32_t begin = 0;     // of the nodes, in the graph's order
  std::uint32_t nodes = 0;
};

/// A graph as a side task: a round is one run of it, a *step*, and its nodes are the items. The conductor
/// (conductor.hpp) alone claims them, a segment at a time.
struct gated_graph {
  static constexpr team_shape shape{.threads = 32, .steps = 1};

  /// What is launched must have ended before it is launched again, and its end comes a little after its last node. So
  /// there are as many segments at least, if need be by further executables for the same nodes.
  static constexpr std::uint32_t min_segments = 4;

  void* kept = nullptr;                     // kept_conducting
  graph_segment const* segments = nullptr;  // (count,) of one step or more, in order, without a gap
  std::uint64_t steps = 0;
  std::uint32_t count = 0;
  std::uint32_t nodes = 0;
  std::uint32_t is_fed = 0;  // a step begins only when it is fed

  LULL_HD std::uint64_t extent(position at, std::uint64_t fed) const noexcept {
    if (at.round >= steps) return finished;
    return is_fed != 0 && at.round >= fed ? starved : nodes;
  }
};

static_assert(slot_sized<gated_graph> && has_shape<gated_graph> && has_extent<gated_graph>);

}  // namespace lull
