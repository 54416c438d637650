// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/resident.hpp>

namespace lull {

/// The loop of a block whose leader claims each chunk for the team.
template <class World, side_task Task, block Block>
class chunk_loop : resident<World, Task, Block> {
  using base = resident<World, Task, Block>;
  using base::block_, base::kept_, base::open_next, base::task, base::words;

 public:
  using base::base;

  /// Collective. Returns when the block has to leave.
  LULL_HD void run() const noexcept {
    bool const leads = block_.rank() == 0;
    team<World, Block> members{block_, words(), kept_.claims.stays(), &kept_.hand};
    do {
      directive const now = kept_.next;
      if (now.what == action::advance) {
        if constexpr (has_advance<Task>) {
          members.begin_chunk(true);  // nobody would resume an interrupted advance
          task().advance(kept_.claims.at(), members);
          open_next();
        }
      } else if (run_chunk(members, now)) {
        if (leads) kept_.next = kept_.claims.next_after(now, words(), task());
      } else if (leads) {
        kept_.next = kept_.claims.next_after_call(kept_.hand, words(), task());
      }
      block_.sync();
    } while (kept_.next.what != action::leave);
  }

 private:
  /// Collective. Returns false if the chunk was handed back.
  LULL_HD bool run_chunk(team<World, Block>& members, directive const& now) const noexcept {
    chunk const piece{kept_.claims.at(), now.begin, now.begin + now.count};
    for (bool must_finish = false;; must_finish = true) {
      members.begin_chunk(must_finish);
      task()(piece, members);
      block_.sync();  // all writes of all threads come before the commit
      if (!members.left()) return true;
      std::uint32_t pushed = 0;
      if (block_.rank() == 0) pushed = kept_.claims.hand_back(now);
      if (block_.broadcast(pushed) != 0) return false;
      // The ring has no room. The team stored nothing, so the chunk runs again, to its end.
    }
  }
};

}  // namespace lull
