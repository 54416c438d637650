// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include <lull/device/claimer.hpp>
#include <lull/device/side_task.hpp>
#include <lull/device/slot.hpp>
#include <lull/device/streaming_team.hpp>
#include <lull/device/team.hpp>
#include <lull/device/trace.hpp>

namespace lull {

/// What a block keeps in its storage while it is inside a bubble.
template <class World, side_task Task>
struct kept_inside {
  static constexpr int task_words = (sizeof(Task) + 7) / 8;
  static constexpr bool task_claims = Task::shape.claims == claiming::by_task;

  // The leader writes it; after a barrier all read it, and another barrier comes before the leader writes again.
  directive next;
  claimer<World, task_claims ? rare_code::inlined : rare_code::called> claims;  // the leader's
  bubble_record* record;                                                        // the leader's
  std::conditional_t<task_claims, chunks_in_hand<World>, exit_look<World>> hand;
  alignas(16) unsigned char task[task_words * 8];
};

/// A block that is inside: what both loops (chunk_loop.hpp, claiming_loop.hpp) use.
template <class World, side_task Task, block Block>
class resident {
 public:
  using kept = kept_inside<World, Task>;

  LULL_HD resident(worker_params const& params, Block const& block, kept& inside) noexcept
      : params_(params), block_(block), kept_(inside) {}

 protected:
  LULL_HD exit_words words() const noexcept { return {params_.slot, params_.gate.line}; }
  LULL_HD Task const& task() const noexcept { return *reinterpret_cast<Task const*>(kept_.task); }

  /// Opens the next phase after the task's `advance`.
  LULL_HD void open_next() const noexcept {
    block_.sync();  // the team's writes come before the leader opens the next phase
    if (block_.rank() != 0) return;
    kept_.next = kept_.claims.open_next(words(), task());
  }

  worker_params const& params_;
  Block const& block_;
  kept& kept_;
};

}  // namespace lull
