// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include <lull/device/lease.hpp>
#include <lull/device/world.hpp>

namespace lull {

/// What a block gives a team: its threads, a barrier, storage, and the collectives. Each world has one implementation:
/// a block on a GPU (host/cuda/block.cuh), one or more threads on a CPU (host/threads/block.hpp).
template <class M>
concept block = requires(M const& block) {
  { block.rank() } -> std::convertible_to<int>;
  { block.size() } -> std::convertible_to<int>;
  { block.blocks() } -> std::convertible_to<std::uint64_t>;  // of the launch
  block.sync();
  { block.shared() } -> std::convertible_to<void*>;
  { block.broadcast(std::uint32_t{}) } -> std::same_as<std::uint32_t>;  // Collective: rank 0's value to all
  // Rank 0 counts the block in on its SM. The count that this returns decides whether the block may stay. Rank 0 counts
  // the block out when it leaves.
  { block.count_in(std::declval<sm_filter const&>()) } -> std::same_as<std::uint32_t>;
  { block.may_stay(std::declval<sm_filter const&>(), std::uint32_t{}) } -> std::same_as<bool>;
  { block.may_stay_now(std::declval<sm_filter const&>()) } -> std::same_as<bool>;  // again, after others have left
  block.count_out(std::declval<sm_filter const&>());
  // For a launch before its dependencies have ended: returns when they have, and what they wrote can be read.
  block.await_launch_order();
  // Storage of the block for what rank 0 keeps between its turns, so that the other threads need no registers for it.
  { block.template keep<std::uint64_t>() } -> std::same_as<std::uint64_t&>;
};

/// What every team takes from its machine.
template <block Block>
class team_of_block {
 public:
  LULL_HD explicit team_of_block(Block const& block) noexcept : block_(block) {}

  LULL_HD int rank() const noexcept { return block_.rank(); }
  LULL_HD int size() const noexcept { return block_.size(); }
  LULL_HD void sync() const noexcept { block_.sync(); }
  LULL_HD void* shared() const noexcept { return block_.shared(); }
  template <class T>
  LULL_HD T sum(T value) const noexcept {
    return block_.sum(value);
  }
  template <class T, class Op>
  LULL_HD T exclusive_scan(T value, T first, Op op) const noexcept {
    return block_.exclusive_scan(value, first, op);
  }

 protected:
  Block const& block_;
};

/// The threads that run a chunk together, as a task sees them: the machine's collectives and `leaving()`.
template <class World, block Block>
class team : public team_of_block<Block> {
 public:
  using world = World;

  /// `stays` and `looked` are rank 0's, in the block's storage; `looked` is written when the team leaves a chunk.
  LULL_HD team(Block const& block, exit_words words, exit_check<World> const& stays, exit_look<World>* looked) noexcept
      : team_of_block<Block>(block), words_(words), stays_(stays), looked_(looked) {}

  /// Collective. Returns whether something has ended the stay. Once true, the worker hands the chunk back: return, and
  /// store nothing more.
  LULL_HD bool leaving() const noexcept {
    if (must_finish_) return false;
    if (!left_) left_ = this->block_.broadcast(std::uint32_t{this->rank() == 0 && stay_ended()}) != 0;
    return left_;
  }

  /// The worker calls this before each chunk.
  LULL_HD void begin_chunk(bool must_finish) noexcept {
    must_finish_ = must_finish;
    left_ = false;
  }
  LULL_HD bool left() const noexcept { return left_; }

 private:
  LULL_HD bool stay_ended() const noexcept {
    auto const view = exit_check<World>::look(words_);
    if (stays_.judge(view) == leave_reason::none) return false;
    *looked_ = {view, true};
    return true;
  }

  exit_words const words_;
  exit_check<World> const& stays_;
  exit_look<World>* const looked_;
  bool must_finish_ = false;
  mutable bool left_ = false;
};

}  // namespace lull
