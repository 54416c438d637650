// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/claimer.hpp>
#include <lull/device/side_task.hpp>
#include <lull/device/slot.hpp>
#include <lull/device/team.hpp>
#include <lull/device/trace.hpp>

namespace lull {

/// The resident loop of one block in one bubble. All threads of the block run it; rank 0, the *leader*, keeps the protocol
/// (claimer.hpp), and the others learn its directives through the machine's storage.
template <class World, side_task Task, machine Machine>
class worker {
 public:
  LULL_HD worker(slot_line& slot, Machine const& block) noexcept : slot_(slot), block_(block), leader_(block.template keep<leader>()) {}

  /// Collective. Enters the slot, runs chunks while the bubble lasts, leaves.
  LULL_HD void run() noexcept {
    std::uint32_t may_stay = 0;
    if (block_.rank() == 0) may_stay = enter();
    if (block_.broadcast(may_stay) == 0) return;
    Task const& task = task_in<Task>(slot_);
    team<World, Machine> members{block_, leader_.claims.stays()};
    for (;;) {
      directive next;
      if (block_.rank() == 0) next = leader_.claims.next(task);
      next = block_.broadcast(next);
      if (next.what == action::leave) break;
      if (next.what == action::advance) {
        if constexpr (has_advance<Task>) {
          task.advance(next.piece.at, members);
          block_.sync();  // the team's writes, before the leader opens the next phase
        }
        if (block_.rank() == 0) leader_.claims.open_next(task, next.piece.at);
        continue;
      }
      run_chunk(task, members, next);
    }
    if (block_.rank() == 0) leave();
  }

 private:
  struct leader {
    claimer<World> claims;
    bubble_record* record;
  };

  LULL_HD void run_chunk(Task const& task, team<World, Machine>& members, directive const& next) noexcept {
    members.begin_chunk(false);
    task(next.piece, members);
    block_.sync();  // the last write of every thread, before the commit
    if (!members.left()) {
      if (block_.rank() == 0) leader_.claims.commit(next);
      return;
    }
    std::uint32_t pushed = 0;
    if (block_.rank() == 0) pushed = leader_.claims.hand_back(next);
    if (block_.broadcast(pushed) != 0) return;
    members.begin_chunk(true);  // no room in the ring: nothing was stored, so the chunk runs once more, to its end
    task(next.piece, members);
    block_.sync();
    if (block_.rank() == 0) leader_.claims.commit(next);
  }

  LULL_HD bool enter() noexcept {
    std::uint64_t const started_ns = World::now_ns();
    gate_line& line = *slot_.gate.line;
    // Beside entering, not behind it, to save a trip: a value that is old by the time the block is in only makes it leave.
    std::uint32_t const value = World::template load<order::relaxed, scope::system>(line.value);
    std::uint64_t const bubble = World::template load<order::relaxed, scope::system>(line.bubbles);
    if (!entry_word<World>::enter(slot_.entry)) return false;
    leader_.record = &slot_.gate.records[bubble & slot_.gate.record_mask];
    if (!is_open(value) || slot_.at == nullptr) {
      if (!is_open(value)) World::template fetch_add<order::relaxed, scope::device>(leader_.record->late_blocks, std::uint32_t{1});
      entry_word<World>::leave(slot_.entry);
      return false;
    }
    leader_.claims = claimer<World>{stay<World>{&slot_, value, started_ns}, slot_.at, block_.blocks()};
    return true;
  }

  LULL_HD void leave() noexcept {
    add<World>(*leader_.record, leader_.claims.account(), leader_.claims.why(), leader_.claims.saw_ns());
    leader_.claims.add_totals();
    entry_word<World>::leave(slot_.entry);
  }

  slot_line& slot_;
  Machine const& block_;
  leader& leader_;  // rank 0 alone looks into it
};

}  // namespace lull
