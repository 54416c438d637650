// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/position.hpp>
#include <lull/device/side_task.hpp>

namespace lull {

/// Whole nodes of a graph that run without a look at the gate. Only the conductor's one thread writes these.
struct graph_piece {
  void* executable = nullptr;  // what the device launches
  std::uint32_t nodes = 0;     // 0: there is no such piece
  std::uint32_t took_ns = 0;   // a recent maximum, from its launch to the look after it
  std::uint32_t closed = 0;    // bubbles that closed while it ran

  LULL_HD void note(std::uint64_t now_took_ns) noexcept {
    auto const now_ns = static_cast<std::uint32_t>(now_took_ns < 0xffff'ffff ? now_took_ns : 0xffff'ffff);
    took_ns = now_ns > took_ns ? now_ns : took_ns - (took_ns - now_ns) / 8;
  }
};

/// A segment, and the *stretch* that begins with it: several segments at once, for when the end of the bubble is far.
struct alignas(16) graph_segment {
  graph_piece one;
  graph_piece stretch;
  std::uint32_t stretched = 0;  // segments of the stretch
};

/// A graph as a side task: a round is one run of it, a *step*, and its nodes are the items. Only the conductor
/// (conductor.hpp) claims them, one segment at a time.
struct gated_graph {
  static constexpr team_shape shape{.threads = 32, .steps = 1};

  /// An executable must have ended before it is launched again, and it ends a little after its last node. So a graph
  /// has at least this many segments, if need be further executables for the same nodes.
  static constexpr std::uint32_t min_segments = 4;

  void* kept = nullptr;               // kept_conducting
  graph_segment* segments = nullptr;  // (count,) of one step or more, in order, without a gap
  std::uint64_t steps = 0;
  std::uint64_t max_spread_ns = 0;  // of lengths that repeat, where bubbles are short; 0: use no hint
  std::uint32_t count = 0;
  std::uint32_t nodes = 0;
  std::uint32_t is_fed = 0;  // not 0: a step begins only when it is fed

  LULL_HD std::uint64_t extent(position at, std::uint64_t fed) const noexcept {
    if (at.round >= steps) return finished;
    return is_fed != 0 && at.round >= fed ? starved : nodes;
  }
};

static_assert(slot_sized<gated_graph> && has_shape<gated_graph> && has_extent<gated_graph>);

}  // namespace lull
