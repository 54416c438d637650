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
  LULL_HD worker(worker_site const& site, Machine const& block) noexcept
      : site_(site), block_(block), leader_(block_.template keep<leader>()) {}

  /// Collective. Enters the slot, runs chunks while the bubble lasts, leaves.
  LULL_HD void run() noexcept {
    bool const inside = block_.rank() == 0 && enter();
    directive next;
    if (inside) next = leader_.claims.next(in_slot());
    next = block_.broadcast(next);
    if (next.what != action::leave) {
      // A copy of its own: read in place, every member would be loaded anew behind every store to the same kind of memory.
      Task const task = in_slot();
      stay_with(task, next);
    }
    if (inside) leave();
  }

 private:
  struct leader {
    claimer<World> claims;
    bubble_record* record;
  };

  LULL_HD Task const& in_slot() const noexcept { return task_in<Task>(*site_.slot); }

  LULL_HD void stay_with(Task const& task, directive next) noexcept {
    team<World, Machine> members{block_, leader_.claims.stays()};
    do {
      if (next.what == action::run) {
        run_chunk(task, members, next);
      } else {
        if constexpr (has_advance<Task>) {
          task.advance(next.piece.at, members);
          block_.sync();  // the team's writes, before the leader opens the next phase
        }
        if (block_.rank() == 0) leader_.claims.open_next(in_slot(), next.piece.at);
      }
      if (block_.rank() == 0) next = leader_.claims.next(in_slot());
      next = block_.broadcast(next);
    } while (next.what != action::leave);
  }

  LULL_HD void run_chunk(Task const& task, team<World, Machine>& members, directive const& next) noexcept {
    for (bool must_finish = false;; must_finish = true) {
      members.begin_chunk(must_finish);
      task(next.piece, members);
      block_.sync();  // the last write of every thread, before the commit
      if (!members.left()) {
        if (block_.rank() == 0) leader_.claims.commit(next);
        return;
      }
      std::uint32_t pushed = 0;
      if (block_.rank() == 0) pushed = leader_.claims.hand_back(next);
      if (block_.broadcast(pushed) != 0) return;
      // No room in the ring: nothing was stored, so the chunk runs once more, to its end.
    }
  }

  /// False: not inside, whatever was entered is left again.
  LULL_HD bool enter() noexcept {
    using entry = entry_word<World>;
    std::uint64_t const started_ns = World::now_ns();
    slot_line& slot = *site_.slot;
    // Issued together. A gate value that is old by the time the block is in only makes it leave, and a cursor is trusted only
    // if it is of the generation that the block entered.
    std::uint32_t const value = World::template load<order::relaxed, scope::system>(site_.gate.line->value);
    std::uint64_t const bubble = World::template load<order::relaxed, scope::system>(site_.gate.line->bubbles);
    std::uint64_t const opened_ns = World::template load<order::relaxed, scope::system>(site_.gate.line->opened_ns);
    tagged_cursor found{World::template load<order::relaxed, scope::device>(slot.at)};
    stay<World> const stays{site_, value, started_ns};
    std::uint32_t const beside = block_.count_in(site_.rooms);
    std::uint64_t const before = entry::enter(slot.entry);
    bool const entered = (before & entry::held) == 0;
    if (entered && found.generation() != entry::generation(before)) {
      found = tagged_cursor{World::template load<order::relaxed, scope::device>(slot.at)};
    }
    leader_.record = &site_.gate.records[bubble & site_.gate.record_mask];
    if (!block_.may_stay(site_.rooms, beside) || !entered || !is_open(value) || found.at() == nullptr) {
      if (!is_open(value)) World::template fetch_add<order::relaxed, scope::device>(leader_.record->late_blocks, std::uint32_t{1});
      if (entered) entry::leave(slot.entry);
      block_.count_out(site_.rooms);
      return false;
    }
    leader_.claims = claimer<World>{stays, found.at(), block_.blocks(), opened_ns};
    return true;
  }

  LULL_HD void leave() noexcept {
    leader_.claims.leave(site_.slot->entry);
    block_.count_out(site_.rooms);
    add<World>(*leader_.record, leader_.claims.account());
  }

  worker_site const& site_;
  Machine const block_;
  leader& leader_;  // rank 0 alone looks into it
};

}  // namespace lull
