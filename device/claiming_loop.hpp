// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/resident.hpp>

namespace lull {

/// The loop of a block whose task claims further chunks by itself. It keeps nothing in registers across calls of the
/// task.
template <class World, side_task Task, block Block>
class claiming_loop : resident<World, Task, Block> {
  using base = resident<World, Task, Block>;
  using base::block_, base::kept_, base::open_next, base::task, base::words;

 public:
  using base::base;

  /// Collective. Returns when the block has to leave.
  LULL_HD void run() const noexcept {
    do {
      if (kept_.next.what == action::advance) {
        if constexpr (has_advance<Task>) {
          task().advance(kept_.claims.at(),
                         // without a check: an advance never leaves
                         streaming_team<World, Block>{block_, words(), nullptr, nullptr});
          open_next();
        }
      } else {
        run_chunks();
        if (block_.rank() == 0) kept_.next = kept_.claims.next_after_call(kept_.hand.looked, words(), task());
      }
      block_.sync();
    } while (kept_.next.what != action::leave);
  }

 private:
  LULL_HD streaming_team<World, Block> claimers() const noexcept {
    return {block_, words(), &kept_.claims, &kept_.hand};
  }

  /// Runs the chunk in hand and all that the task claims meanwhile; then runs each piece that found no room in the
  /// ring.
  LULL_HD void run_chunks() const noexcept {
    chunks_in_hand<World>& hand = kept_.hand;
    if (block_.rank() == 0) hand = {kept_.next.count, 1, 0, false, {}, {}, {}};
    directive now = kept_.next;
    for (;;) {
      block_.sync();
      task()(chunk{kept_.claims.at(), now.begin, now.begin + now.count}, claimers());
      block_.sync();  // all writes come before the commit, and before another block gets what is handed back
      if (!hand.must_finish) {
        settle();
      } else if (block_.rank() == 0) {
        commit_refused(hand.first_refused());
      }
      block_.sync();
      int const piece = hand.first_refused();
      if (piece == hand.undone_pieces) return;
      if (block_.rank() == 0) hand.must_finish = true;
      now = hand.undone[piece];
    }
  }

  /// Collective. Rank 0 commits what is stored while threads of other warps push what is not, one piece each. Each is a
  /// trip to the L2 and a leaving block waits for it, so they overlap.
  LULL_HD void settle() const noexcept {
    chunks_in_hand<World>& hand = kept_.hand;
    if (block_.rank() == 0) {
      auto const pieces = static_cast<std::uint32_t>(hand.undone_pieces);
      kept_.claims.count_pushes(pieces);
      kept_.claims.add_done(hand.items_done(), hand.chunks > pieces ? hand.chunks - pieces : 0, kept_.next.what);
    }
    for (int piece = block_.size() - 1 - block_.rank(); piece < hand.undone_pieces; piece += block_.size()) {
      hand.refused[piece] = !kept_.claims.push(hand.undone[piece], static_cast<std::uint64_t>(piece));
    }
  }

  LULL_HD void commit_refused(int piece) const noexcept {
    kept_.claims.count_refusal();
    kept_.claims.add_done(kept_.hand.undone[piece].count, 1, action::finish);
    kept_.hand.refused[piece] = false;
  }
};

}  // namespace lull
