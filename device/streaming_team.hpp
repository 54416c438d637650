// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>

#include <lull/device/claimer.hpp>
#include <lull/device/side_task.hpp>
#include <lull/device/team.hpp>

namespace lull {

/// What a team that claims by itself has in hand during one call, in the block's storage. During the call rank 0 writes
/// it, except `looked`, which the polling thread writes. After the call the pushing threads write `refused`.
template <class World>
struct chunks_in_hand {
  std::uint64_t items = 0;
  std::uint64_t chunks = 0;
  int undone_pieces = 0;
  bool must_finish = false;
  directive undone[max_undone];
  bool refused[max_undone];  // by the ring, and not done since
  exit_look<World> looked;

  LULL_HD std::uint64_t items_done() const noexcept {
    std::uint64_t done = items;
    for (int piece = 0; piece < undone_pieces; ++piece) done -= undone[piece].count;
    return done;
  }
  /// Returns the first refused piece; `undone_pieces`: none was refused.
  LULL_HD int first_refused() const noexcept {
    int piece = 0;
    while (piece < undone_pieces && !refused[piece]) ++piece;
    return piece;
  }
};

/// The team of a task that claims by itself. It keeps nothing of its own: such a task needs all registers.
template <class World, block Block>
class streaming_team : public team_of_block<Block> {
 public:
  using world = World;
  using claims = claimer<World, rare_code::inlined>;

  /// With both null: for ordinary code, or for an advance; these claim nothing and never leave.
  LULL_HD streaming_team(Block const& block, exit_words words, claims* of, chunks_in_hand<World>* hand) noexcept
      : team_of_block<Block>(block), words_(words), claims_(of), hand_(hand) {}

  LULL_HD bool stay_ended() const noexcept {
    if (must_finish()) return false;
    auto const view = exit_check<World>::look(words_);
    if (claims_->stays().judge(view) == leave_reason::none) return false;
    hand_->looked = {view, true};
    return true;
  }
  LULL_HD chunk more() const noexcept {
    if (must_finish()) return {};
    directive const found = claims_->ahead(words_);
    hand_->items += found.count;
    hand_->chunks += found.count != 0 ? 1 : 0;
    return {claims_->at(), found.begin, found.begin + found.count};
  }
  LULL_HD void hand_back(chunk undone) const noexcept {
    assert(hand_ != nullptr && hand_->undone_pieces < max_undone);
    hand_->undone[hand_->undone_pieces++] = {undone.begin, static_cast<std::uint32_t>(undone.size()), action::finish};
  }

 private:
  LULL_HD bool must_finish() const noexcept { return hand_ == nullptr || hand_->must_finish; }

  exit_words const words_;
  claims* const claims_;
  chunks_in_hand<World>* const hand_;
};

}  // namespace lull
