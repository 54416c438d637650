// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/position.hpp>
#include <lull/device/side_task.hpp>

namespace lull {

/// Whole nodes of a graph that run without a look at the gate. The conductor keeps its books: one thread, one after
/// another.
struct graph_piece {
  void* executable = nullptr;  // what the device launches
  std::uint32_t nodes = 0;     // 0: there is no such piece
  std::uint32_t took_ns = 0;   // lately at the most, from its launch to the look behind it
  std::uint32_t closed = 0;    // bubbles that closed while it ran

  LULL_HD void note(std::uint64_t now_took_ns) noexcept {
    auto const now_ns = static_cast<std::uint32_t>(now_took_ns < 0xffff'ffff ? now_took_ns : 0xffff'ffff);
    took_ns = now_ns > took_ns ? now_ns : took_ns - (took_ns - now_ns) / 8;
  }
};

/// A segment, and where a *stretch* begins with it: as many segments at once, for where the end of the bubble is far.
struct alignas(16) graph_segment {
  graph_piece one;
  graph_piece stretch;
  std::uint32_t stretched = 0;  // segments of the stretch
};

/// A graph as a side task: a round is one run of it, a *step*, and its nodes are the items. The conductor
/// (conductor.hpp) alone claims them, a segment at a time.
struct gated_graph {
  static constexpr team_shape shape{.threads = 32, .steps = 1};

  /// What is launched must have ended before it is launched again, and its end comes a little after its last node. So
  /// there are as many segments at least, if need be by further executables for the same nodes.
  static constexpr std::uint32_t min_segments = 4;

  void* kept = nullptr;               // kept_conducting
  graph_segment* segments = nullptr;  // (count,) of one step or more, in order, without a gap
  std::uint64_t steps = 0;
  std::uint64_t max_spread_ns = 0;  // of lengths that repeat, where bubbles are short; 0: no hint is taken
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
