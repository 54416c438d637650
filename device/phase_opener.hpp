// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/cursor.hpp>
#include <lull/device/position.hpp>

namespace lull {

/// Means something only while the phase cannot change: with a chunk in hand, or while opening.
template <class World>
LULL_HD position position_of(cursor& words) noexcept {
  return {World::template load<order::relaxed, scope::device>(words.round),
          World::template load<order::relaxed, scope::device>(words.step)};
}

/// Takes a cursor from a phase that is over to the next. The block that holds it in `opening` is the only one that
/// writes it.
template <class World>
class phase_opener {
 public:
  /// `most`: items of a phase, at most. `opened_ns`: when the bubble opened, which names it.
  LULL_HD phase_opener(cursor& at, std::uint64_t most, std::uint64_t opened_ns) noexcept
      : cursor_(at), max_(most), bubble_(~opened_ns) {}

  /// From `due`, or from `open` with all items committed. False: another block was faster.
  LULL_HD bool hold(tagged_state now) const noexcept { return change(now, phase_state::opening); }

  /// From `starved`. One block asks for all of a bubble: if each did, input could come while they leave, and the last
  /// of them would work without the others for as long as it lasts. False: the task has no input, or had none in this
  /// bubble.
  template <class Task>
  LULL_HD bool ask_again(Task const& task, tagged_state now) const noexcept {
    if (asked()) return false;
    if (!hold(now)) return true;  // another block asks
    if (!asked()) return open(task, position_of<World>(cursor_));
    change({now.tag(), phase_state::opening}, phase_state::starved);  // another had asked, between the two looks
    return false;
  }

  /// Opens the phase `at`, held in `opening` by this block. False: the task has no input for it.
  template <class Task>
  LULL_HD bool open(Task const& task, position at) const noexcept {
    // Issued together. Nobody else writes these while the phase is in `opening`.
    tagged const limit{
        World::template load<order::relaxed, scope::device>(cursor_.limit)};  // of the phase that is over
    std::uint64_t const done = World::template load<order::relaxed, scope::device>(cursor_.done);
    std::uint64_t const all = World::template load<order::relaxed, scope::device>(cursor_.items);
    std::uint64_t const phases = World::template load<order::relaxed, scope::device>(cursor_.phases);
    // acquire, system: the input that a copy brought before the stream raised the word
    std::uint64_t const fed = World::template load<order::acquire, scope::system>(cursor_.fed);
    std::uint64_t const items = task.extent(at, fed);
    tagged_state const opening{limit.tag(), phase_state::opening};
    add_up(at, all + done);
    if (items == starved) {
      World::template store<order::relaxed, scope::device>(cursor_.starved_in, bubble_);
      return settle(at, opening, phase_state::starved, phases), false;
    }
    if (items == finished) return settle(at, opening, phase_state::finished, phases), true;
    if (items > max_) {
      World::template store<order::relaxed, scope::device>(cursor_.why,
                                                           static_cast<std::uint32_t>(failure::too_many_items));
      return settle(at, opening, phase_state::failed, phases), true;
    }
    World::template store<order::relaxed, scope::device>(cursor_.phases, phases + 1);
    if (items == 0) return change(opening, phase_state::due), true;
    tagged const now{limit.tag() + 1, items};
    World::template store<order::relaxed, scope::device>(cursor_.limit, now.word());
    report(at, phase_state::open, phases + 1);
    // The state before the ticket: with that out, the phase's last item may be committed at once, and the state
    // changed.
    if (change(opening, tagged_state{now.tag(), phase_state::open})) {
      // release: limit, position and all that earlier phases wrote, to each block that acquires the ticket
      World::template store<order::release, scope::device>(cursor_.ticket, tagged{now.tag(), 0}.word());
    }
    return true;
  }

  /// From `open`: the job is over, and has failed.
  LULL_HD void fail(tagged_state now, failure why) const noexcept {
    if (!hold(now)) return;
    World::template store<order::relaxed, scope::device>(cursor_.why, static_cast<std::uint32_t>(why));
    settle(position_of<World>(cursor_), {now.tag(), phase_state::opening}, phase_state::failed,
           World::template load<order::relaxed, scope::device>(cursor_.phases));
  }

 private:
  LULL_HD bool asked() const noexcept {
    return World::template load<order::relaxed, scope::device>(cursor_.starved_in) == bubble_;
  }

  LULL_HD bool change(tagged_state from, tagged_state to) const noexcept {
    // acquire: what led to `from`; release: what led to `to`
    return World::template compare_exchange<order::acq_rel, scope::device>(cursor_.state, from.word(), to.word());
  }
  LULL_HD bool change(tagged_state from, phase_state to) const noexcept {
    return change(from, tagged_state{from.tag(), to});
  }

  /// The books of the phase that is over, and the position of the next.
  LULL_HD void add_up(position at, std::uint64_t items) const noexcept {
    World::template store<order::relaxed, scope::device>(cursor_.items, items);
    World::template store<order::relaxed, scope::device>(cursor_.done, std::uint64_t{0});
    World::template store<order::relaxed, scope::device>(cursor_.round, at.round);
    World::template store<order::relaxed, scope::device>(cursor_.step, at.step);
  }

  LULL_HD void settle(position at, tagged_state opening, phase_state to, std::uint64_t phases) const noexcept {
    report(at, to, phases);
    change(opening, to);
  }

  LULL_HD void report(position at, phase_state state, std::uint64_t phases) const noexcept {
    progress_line* const line = cursor_.progress;
    if (line == nullptr) return;
    std::uint64_t const where = progress_word{at.round, at.step, state}.word();
    // release: what earlier phases wrote, to a host that takes it from the machine. Where a phase waits, before the
    // slow stores to the host.
    bool const first = state == phase_state::open;
    if (first) World::template store<order::release, scope::system>(line->where, where);
    World::template store<order::relaxed, scope::system>(line->phases, phases);
    World::template store<order::relaxed, scope::system>(line->round, at.round);
    if (state == phase_state::failed) {
      World::template store<order::relaxed, scope::system>(
          line->why, World::template load<order::relaxed, scope::device>(cursor_.why));
    }
    if (!first) World::template store<order::release, scope::system>(line->where, where);
  }

  cursor& cursor_;
  std::uint64_t const max_;
  std::uint64_t const bubble_;  // as in cursor::starved_in
};

}  // namespace lull
