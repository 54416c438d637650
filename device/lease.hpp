// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/slot.hpp>
#include <lull/device/trace.hpp>

namespace lull {

/// The words that end a stay. Passed by value: a reference to a kernel's parameter costs a trip to memory.
struct exit_words {
  slot_line* slot = nullptr;
  gate_line* line = nullptr;
};

/// The three things that end a block's stay, checked together at every yield point and in every wait: the gate no
/// longer has the block's value; the block's lease is over or it rests; the slot is held.
template <class World>
class exit_check {
 public:
  exit_check() = default;
  /// `value` is the gate's value when the block started, `started_ns` when that was.
  LULL_HD exit_check(worker_params const& params, std::uint32_t value, std::uint64_t started_ns) noexcept
      : ends_ns_(started_ns + lease_of(params)), value_(value) {}

  /// What a look finds. Loading and judging are separate, so that other loads overlap.
  struct view {
    std::uint32_t value;
    std::uint64_t entry;
    std::uint64_t now_ns;
  };
  LULL_HD static view look(exit_words words) noexcept {
    // relaxed, system scope: NCCL's kernels and stream memory operations live in another memory domain; the load
    // publishes nothing
    return {World::template load<order::relaxed, scope::system>(words.line->value),
            World::template load<order::relaxed, scope::device>(words.slot->entry), World::now_ns()};
  }
  LULL_HD leave_reason judge(view seen) const noexcept {
    // Without branches: a load that one of them left unused would hold its scoreboard, and ptxas might let the next
    // look wait for that (tests/device/yield_point_test.py).
    bool const is_held = (seen.entry & entry_word<World>::held) != 0;
    leave_reason const why = seen.now_ns >= ends_ns_ ? leave_reason::lease : leave_reason::none;
    leave_reason const of_host = is_held ? leave_reason::held : why;
    return seen.value != value_ ? leave_reason::closed : of_host;
  }
  LULL_HD std::uint64_t ends_ns() const noexcept { return ends_ns_; }
  LULL_HD void end_at(std::uint64_t ns) noexcept { ends_ns_ = ns; }

 private:
  LULL_HD static std::uint64_t lease_of(worker_params const& params) noexcept {
    std::uint64_t const of_slot = World::template load<order::relaxed, scope::system>(params.slot->lease_ns);
    return params.max_lease_ns != 0 && params.max_lease_ns < of_slot ? params.max_lease_ns : of_slot;
  }

  std::uint64_t ends_ns_ = 0;
  std::uint32_t value_ = 0;
};

/// When a block rests (rest_time). Its stay ends there as at the end of its lease, so yield points need no other check;
/// but the block does not leave. A rest that would outlast the lease is ignored.
template <class World>
class rests {
 public:
  LULL_HD void begin(exit_check<World>& stays, std::uint64_t opened_ns, rest_time rest) noexcept {
    lease_ends_ns_ = stays.ends_ns();
    if (rest.until_ns == 0 || opened_ns + rest.until_ns >= lease_ends_ns_) return;
    until_ns_ = opened_ns + rest.until_ns;
    stays.end_at(opened_ns + rest.from_ns);
  }
  LULL_HD bool must_leave(leave_reason why) const noexcept {
    return why != leave_reason::none && (why != leave_reason::lease || until_ns_ == 0);
  }
  /// Ends the rest: the bubble is longer than usual.
  LULL_HD void end_if_over(exit_check<World>& stays, std::uint64_t now_ns) noexcept {
    if (now_ns < until_ns_) return;
    until_ns_ = 0;
    stays.end_at(lease_ends_ns_);
  }

 private:
  std::uint64_t lease_ends_ns_ = 0;
  std::uint64_t until_ns_ = 0;  // 0: it does not rest, or no longer
};

/// What ended a stay, as the thread that polls within a call saw it. Read after the call.
template <class World>
struct exit_look {
  typename exit_check<World>::view seen;
  bool ended = false;
};

}  // namespace lull
