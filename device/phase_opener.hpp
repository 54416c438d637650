// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/cursor.hpp>
#include <lull/device/position.hpp>

namespace lull {

/// Returns the position. It is valid only while the phase cannot change: with a chunk in hand, or while opening.
template <class World>
LULL_HD position position_of(cursor& words) noexcept {
  return {World::template load<order::relaxed, scope::device>(words.round),
          World::template load<order::relaxed, scope::device>(words.step)};
}

/// Takes a cursor from a phase that is over to the next. Only the block that holds the cursor in `opening` writes it.
template <class World>
class phase_opener {
 public:
  /// `most`: the most items of a phase. `opened_ns`: when the bubble opened, which identifies it.
  LULL_HD phase_opener(cursor& at, std::uint64_t most, std::uint64_t opened_ns) noexcept
      : cursor_(at), max_(most), bubble_(~opened_ns) {}

  /// Moves to `opening`, from `due`, or from `open` with all items committed. Returns false if another block was
  /// faster.
  LULL_HD bool hold(tagged_state now) const noexcept {
    // acquire: what led to `now`
    return World::template compare_exchange<order::acquire, scope::device>(
        cursor_.state, now.word(), tagged_state{now.tag(), phase_state::opening}.word());
  }

  /// Asks a starved task for input. One block asks for all of a bubble: if each did, input could come while they leave,
  /// and the last of them would work alone for as long as it lasts. Returns false if the task has no input, or had none
  /// in this bubble.
  template <class Task>
  LULL_HD bool ask_again(Task const& task, tagged_state now) const noexcept {
    if (asked()) return false;
    if (!hold(now)) return true;  // another block asks
    if (!asked()) return open(task, position_of<World>(cursor_), take_none{}).what != phase_state::starved;
    release({now.tag(), phase_state::starved});  // another block asked between the two looks
    return false;
  }

  /// The result of `open`.
  struct opened {
    phase_state what = phase_state::open;
    tagged limit{};  // of an open one
    bool taken = false;
    bool reported = false;
  };
  struct take_none {
    LULL_HD bool operator()(std::uint64_t) const noexcept { return false; }
  };
  enum class reports { each, of_others };

  /// Opens the phase `at`, which this block holds in `opening`. `take(items)`: whether this block takes all of these
  /// items; it has then claimed them. `of_others`: the host is not told of a phase that this block takes.
  template <class Task, class Take>
  LULL_HD opened open(Task const& task, position at, Take const& take, reports told = reports::each) const noexcept {
    // Issued together, so that latencies overlap. While the phase is in `opening`, only this block writes these, except
    // the last two.
    tagged const over{World::template load<order::relaxed, scope::device>(cursor_.limit)};
    std::uint64_t const done = World::template load<order::relaxed, scope::device>(cursor_.done);
    std::uint64_t const all = World::template load<order::relaxed, scope::device>(cursor_.items);
    std::uint64_t const phases = World::template load<order::relaxed, scope::device>(cursor_.phases);
    bool const is_reporting = World::template load<order::relaxed, scope::device>(cursor_.reporting) != 0;
    std::uint64_t fed = World::template load<order::relaxed, scope::system>(cursor_.fed);
    // acquire, system: the input that a copy brought before the stream raised the word
    if (fed != 0) fed = World::template load<order::acquire, scope::system>(cursor_.fed);
    std::uint64_t const items = task.extent(at, fed);
    add_up(at, all + done);
    if (items == starved) {
      World::template store<order::relaxed, scope::device>(cursor_.starved_in, bubble_);
      return settle(at, {over.tag(), phase_state::starved}, phases);
    }
    if (items == finished) return settle(at, {over.tag(), phase_state::finished}, phases);
    if (items > max_) return settle(at, {over.tag(), phase_state::failed}, phases, failure::too_many_items);
    World::template store<order::relaxed, scope::device>(cursor_.phases, phases + 1);
    if (items == 0) {
      release({over.tag(), phase_state::due});
      return {phase_state::due};
    }
    tagged const limit{over.tag() + 1, items};
    bool const taken = take(items);
    bool const silent = is_reporting || (taken && told == reports::of_others);
    World::template store<order::relaxed, scope::device>(cursor_.limit, limit.word());
    if (!silent) World::template store<order::relaxed, scope::device>(cursor_.reporting, std::uint32_t{1});
    // release: limit, position and all that earlier phases wrote, to each block that acquires the ticket
    World::template store<order::release, scope::device>(cursor_.ticket, tagged{limit.tag(), taken ? items : 0}.word());
    // relaxed: a block that looks at it knows the tag from the ticket
    World::template store<order::relaxed, scope::device>(cursor_.state,
                                                         tagged_state{limit.tag(), phase_state::open}.word());
    if (!silent) {  // slow stores to the host, while other blocks work
      report(at, phase_state::open, phases + 1);
      // release: these stores come before those of the next report
      World::template store<order::release, scope::device>(cursor_.reporting, std::uint32_t{0});
    }
    return {phase_state::open, limit, taken, !silent};
  }

  /// Fails the job from `open`; called by the one block that works on the phase.
  LULL_HD void fail(tagged_state now, failure why) const noexcept {
    if (now.state() != phase_state::open || !hold(now)) return;
    settle(position_of<World>(cursor_), {now.tag(), phase_state::failed},
           World::template load<order::relaxed, scope::device>(cursor_.phases), why);
  }

 private:
  /// A report takes about a microsecond. A block that was stopped for ever within one must not hold this block.
  static constexpr int max_looks_at_report = 1 << 20;

  LULL_HD bool asked() const noexcept {
    return World::template load<order::relaxed, scope::device>(cursor_.starved_in) == bubble_;
  }

  /// Leaves `opening` for a state that no ticket follows.
  LULL_HD void release(tagged_state to) const noexcept {
    // release: the words of the phase, to the block that takes up its state
    World::template store<order::release, scope::device>(cursor_.state, to.word());
  }

  /// Adds up the phase that is over, and sets the position of the next.
  LULL_HD void add_up(position at, std::uint64_t items) const noexcept {
    World::template store<order::relaxed, scope::device>(cursor_.items, items);
    World::template store<order::relaxed, scope::device>(cursor_.done, std::uint64_t{0});
    World::template store<order::relaxed, scope::device>(cursor_.round, at.round);
    World::template store<order::relaxed, scope::device>(cursor_.step, at.step);
  }

  LULL_HD opened settle(position at, tagged_state to, std::uint64_t phases,
                        failure why = failure::none) const noexcept {
    // acquire: the stores of the block that reports an earlier phase come before these
    for (int looks = 0; looks < max_looks_at_report; ++looks) {
      if (World::template load<order::acquire, scope::device>(cursor_.reporting) == 0) break;
      World::pause();
    }
    if (why != failure::none)
      World::template store<order::relaxed, scope::device>(cursor_.why, static_cast<std::uint32_t>(why));
    report(at, to.state(), phases, why);
    release(to);
    return {to.state()};
  }

  LULL_HD void report(position at, phase_state state, std::uint64_t phases,
                      failure why = failure::none) const noexcept {
    progress_line* const line = cursor_.progress;
    if (line == nullptr) return;
    std::uint64_t const where = progress_word{at.round, at.step, state}.word();
    // release: what earlier phases wrote, to a host that takes it from the machine. An open phase stores it before the
    // other words, so that it does not wait for them.
    bool const first = state == phase_state::open;
    if (first) World::template store<order::release, scope::system>(line->where, where);
    World::template store<order::relaxed, scope::system>(line->phases, phases);
    World::template store<order::relaxed, scope::system>(line->round, at.round);
    if (why != failure::none)
      World::template store<order::relaxed, scope::system>(line->why, static_cast<std::uint32_t>(why));
    if (!first) World::template store<order::release, scope::system>(line->where, where);
  }

  cursor& cursor_;
  std::uint64_t const max_;
  std::uint64_t const bubble_;  // as in cursor::starved_in
};

}  // namespace lull
