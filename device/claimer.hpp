// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>

#include <lull/device/cursor.hpp>
#include <lull/device/lease.hpp>
#include <lull/device/position.hpp>
#include <lull/device/ring.hpp>
#include <lull/device/trace.hpp>

namespace lull {

/// What the leader tells its team to do next.
enum class action : std::uint32_t { leave, run, advance };

struct directive {
  chunk piece;  // of `run`; `piece.at` alone, the phase that ended, of `advance`
  action what = action::leave;
  std::uint32_t at_once = 0;  // commit without delay
};

/// One block's dealings with its cursor: claim, commit, hand back, open the next phase. Only the leader calls it; between
/// its calls stands a barrier of the team, which carries what the leader acquired to the others and what they wrote to it.
template <class World>
class claimer {
 public:
  claimer() = default;
  LULL_HD claimer(stay<World> const& stays, cursor* at, std::uint64_t blocks) noexcept
      : stays_(stays), cursor_(at), blocks_(blocks) {}

  /// The yield point: poll, then the ring, then the ticket. Returns with a chunk in hand, with the duty to open the next
  /// phase, or with the word to leave. Every round of its loop polls.
  template <class Task>
  LULL_HD directive next(Task const& task) noexcept {
    std::uint64_t waits_since_ns = 0;
    for (;;) {
      // Issued together, before anything is decided: one trip to the L2 for all of them.
      tagged ticket{World::template load<order::relaxed, scope::device>(cursor_->ticket)};
      bool const perhaps = ring().perhaps();
      if (leave_reason const why = stays_.look(); why != leave_reason::stay) return depart(why, waits_since_ns);

      if (perhaps) {
        if (handed_back const entry = ring().pop(); entry.count != 0) {
          // An entry's phase cannot end before the entry is committed: ticket and limit are found under its tag.
          if (!knows_ || entry.at.tag() != tag_) learn();
          assert(entry.at.tag() == tag_);
          return run(entry.at.item(), entry.count, true, waits_since_ns);
        }
      }
      if (!knows_ || ticket.tag() != tag_) {
        ticket = learn();
        if (!knows_) {  // that phase is over and the next not yet open
          wait(waits_since_ns);
          continue;
        }
      }
      if (ticket.item() < extent_) {
        std::uint64_t const grain = grain_;
        // relaxed: only the claim; what the phase before wrote was acquired at the first sight of the tag
        tagged const old{World::template fetch_add<order::relaxed, scope::device>(cursor_->ticket, grain)};
        if (old.tag() != tag_) {
          learn();
          if (!knows_ || old.tag() != tag_) continue;  // an overshoot of a phase that is over meanwhile
        }
        if (old.item() < extent_) {
          std::uint64_t const left = extent_ - old.item();
          return run(old.item(), grain < left ? grain : left, left < (2 * blocks_ + 1) * grain, waits_since_ns);
        }
      }
      commit_deferred();
      // acquire: the commits of the phase, from whoever made it due
      switch (phase_state{World::template load<order::acquire, scope::device>(cursor_->state)}) {
        case phase_state::finished:
        case phase_state::failed: return depart(leave_reason::finished, waits_since_ns);
        case phase_state::due:
          if (change(phase_state::due, phase_state::opening)) {
            end_wait(waits_since_ns);
            return {{position_now(), 0, 0}, action::advance, 0};
          }
          break;
        case phase_state::starved:
          if (change(phase_state::starved, phase_state::opening) && !open(task, position_now())) {
            return depart(leave_reason::starved, waits_since_ns);
          }
          break;
        case phase_state::opening:
        case phase_state::open: break;
      }
      wait(waits_since_ns);
    }
  }

  /// After the team's `advance` of the phase that `ended`.
  template <class Task>
  LULL_HD void open_next(Task const& task, position ended) noexcept {
    position const at = ended.step + 1 < Task::shape.steps ? position{ended.round, ended.step + 1} : position{ended.round + 1, 0};
    open(task, at);
  }

  /// The chunk's work is done and a barrier has passed.
  LULL_HD void commit(directive const& done) noexcept {
    deferred_ += done.piece.size();
    account_.chunks += 1;
    account_.items += done.piece.size();
    if (done.at_once != 0) commit_deferred();
  }

  /// False: the ring is full, and the chunk must be finished.
  LULL_HD bool hand_back(directive const& undone) noexcept {
    if (!ring().push({tagged{tag_, undone.piece.begin}, undone.piece.size()})) {
      ++refused_;
      return false;
    }
    account_.handed_back += 1;
    claimed_ -= undone.piece.size();
    return true;
  }

  LULL_HD stay<World> const& stays() const noexcept { return stays_; }
  LULL_HD block_account const& account() const noexcept { return account_; }
  LULL_HD leave_reason why() const noexcept { return why_; }
  LULL_HD std::uint64_t saw_ns() const noexcept { return saw_ns_; }

  LULL_HD void add_totals() noexcept {
    auto const sum = [](std::uint64_t& word, std::uint64_t value) {
      if (value != 0) World::template fetch_add<order::relaxed, scope::device>(word, value);
    };
    sum(cursor_->chunks, account_.chunks);
    sum(cursor_->items, account_.items);
    sum(cursor_->handed_back, account_.handed_back);
    sum(cursor_->refused, refused_);
  }

 private:
  LULL_HD ring_ref<World> ring() const noexcept { return {&cursor_->ends, cursor_->cells, cursor_->capacity}; }

  LULL_HD bool change(phase_state from, phase_state to) noexcept {
    // acquire: what led to `from`; release: what led to `to`
    return World::template compare_exchange<order::acq_rel, scope::device>(
        cursor_->state, static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to));
  }

  /// First sight of a tag. The ticket is stored last when a phase opens, so that whoever acquires it sees limit, position
  /// and the state of that phase or of a later one; a limit of a later tag says that this one is over.
  LULL_HD tagged learn() noexcept {
    tagged const ticket{World::template load<order::acquire, scope::device>(cursor_->ticket)};
    tagged const limit{World::template load<order::relaxed, scope::device>(cursor_->limit)};
    knows_ = limit.tag() == ticket.tag();
    tag_ = ticket.tag();
    extent_ = limit.item();
    grain_ = World::template load<order::relaxed, scope::device>(cursor_->grain);
    at_known_ = false;
    return ticket;
  }

  LULL_HD position position_now() const noexcept {
    return {World::template load<order::relaxed, scope::device>(cursor_->round),
            World::template load<order::relaxed, scope::device>(cursor_->step)};
  }

  LULL_HD directive run(std::uint64_t begin, std::uint64_t count, bool at_once, std::uint64_t waits_since_ns) noexcept {
    if (!at_known_) {  // only now, with a chunk in hand: until that is committed the phase cannot end
      at_ = position_now();
      at_known_ = true;
    }
    end_wait(waits_since_ns);
    if (account_.first_ns == 0) account_.first_ns = World::now_ns();
    claimed_ += count;
    return {{at_, begin, begin + count}, action::run, std::uint32_t{at_once}};
  }

  LULL_HD directive depart(leave_reason why, std::uint64_t waits_since_ns) noexcept {
    saw_ns_ = World::now_ns();
    end_wait(waits_since_ns);
    commit_deferred();
    assert(claimed_ == committed_);
    why_ = why;
    return {};
  }

  LULL_HD void commit_deferred() noexcept {
    if (deferred_ == 0) return;
    std::uint64_t const mine = deferred_;
    deferred_ = 0;
    committed_ += mine;
    // release: the chunks' results; acquire: those of all earlier committers, passed on with `due`
    std::uint64_t const before = World::template fetch_add<order::acq_rel, scope::device>(cursor_->done, mine);
    if (before + mine == extent_) change(phase_state::open, phase_state::due);
  }

  /// Opens the phase `at`, held in `opening` by this block. False: the task has no input for it.
  template <class Task>
  LULL_HD bool open(Task const& task, position at) noexcept {
    // acquire, system: the input that a copy brought before the stream raised the word
    std::uint64_t const fed = World::template load<order::acquire, scope::system>(cursor_->fed);
    std::uint64_t const items = task.extent(at, fed);
    World::template store<order::relaxed, scope::device>(cursor_->round, at.round);
    World::template store<order::relaxed, scope::device>(cursor_->step, at.step);
    if (items == starved) {
      report(at, phase_state::starved);
      change(phase_state::opening, phase_state::starved);
      return false;
    }
    if (items == finished) {
      report(at, phase_state::finished);
      change(phase_state::opening, phase_state::finished);
      return true;
    }
    if (items > most_items(blocks_, grain_ != 0 ? grain_ : 1)) {
      World::template store<order::relaxed, scope::device>(cursor_->why, static_cast<std::uint32_t>(failure::too_many_items));
      report(at, phase_state::failed);
      change(phase_state::opening, phase_state::failed);
      return true;
    }
    std::uint64_t const phases = World::template load<order::relaxed, scope::device>(cursor_->phases) + 1;
    World::template store<order::relaxed, scope::device>(cursor_->phases, phases);
    if (items == 0) {
      change(phase_state::opening, phase_state::due);
      return true;
    }
    tagged const now{World::template load<order::relaxed, scope::device>(cursor_->ticket)};
    World::template store<order::relaxed, scope::device>(cursor_->limit, tagged{now.tag() + 1, items}.word());
    World::template store<order::relaxed, scope::device>(cursor_->done, std::uint64_t{0});
    report(at, phase_state::open);
    // The state before the ticket: with the ticket out, the phase's last item may be committed at once, which needs `open`.
    if (change(phase_state::opening, phase_state::open)) {
      // release: limit, position and all that earlier phases wrote, to whoever acquires the ticket
      World::template store<order::release, scope::device>(cursor_->ticket, tagged{now.tag() + 1, 0}.word());
    }
    return true;
  }

  LULL_HD void report(position at, phase_state state) noexcept {
    progress_line* const line = cursor_->progress;
    if (line == nullptr) return;
    World::template store<order::relaxed, scope::system>(line->phases,
                                                         World::template load<order::relaxed, scope::device>(cursor_->phases));
    World::template store<order::relaxed, scope::system>(line->round, at.round);
    World::template store<order::relaxed, scope::system>(line->step, at.step);
    World::template store<order::relaxed, scope::system>(line->why, World::template load<order::relaxed, scope::device>(cursor_->why));
    World::template store<order::release, scope::system>(line->state, static_cast<std::uint32_t>(state));
  }

  LULL_HD void wait(std::uint64_t& since_ns) noexcept {
    if (since_ns == 0) since_ns = World::now_ns();
    World::pause();
  }

  LULL_HD void end_wait(std::uint64_t since_ns) noexcept {
    if (since_ns != 0) account_.wait_ns += World::now_ns() - since_ns;
  }

  stay<World> stays_;
  cursor* cursor_ = nullptr;
  std::uint64_t blocks_ = 1;
  // what is known of the phase `tag_`
  bool knows_ = false;
  bool at_known_ = false;
  std::uint32_t tag_ = 0;
  std::uint32_t grain_ = 0;
  std::uint64_t extent_ = 0;
  position at_;
  // this block's books: claimed = committed + deferred + (in hand)
  std::uint64_t deferred_ = 0;
  std::uint64_t claimed_ = 0;
  std::uint64_t committed_ = 0;
  std::uint64_t refused_ = 0;
  block_account account_;
  leave_reason why_ = leave_reason::stay;
  std::uint64_t saw_ns_ = 0;
};

}  // namespace lull
