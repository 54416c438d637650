// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>

#include <lull/device/cursor.hpp>
#include <lull/device/lease.hpp>
#include <lull/device/position.hpp>
#include <lull/device/ring.hpp>
#include <lull/device/slot.hpp>
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
  LULL_HD claimer(stay<World> const& stays, cursor* at, std::uint64_t blocks, std::uint64_t opened_ns) noexcept
      : stays_(stays), cursor_(at), blocks_(blocks) {
    account_.opened_ns = opened_ns;
  }

  /// The yield point: poll, then the ring, then the ticket. Returns with a chunk in hand, with the duty to open the next
  /// phase, or with the word to leave.
  template <class Task>
  LULL_HD directive next(Task const& task) noexcept {
    directive found;
    leave_reason why = leave_reason::stay;
    if (try_next(found, why)) return found;
    return why != leave_reason::stay ? depart(why, 0) : next_of_all(task);
  }

  /// After the team's `advance` of the phase that `ended`.
  template <class Task>
  LULL_HD void open_next(Task const& task, position ended) noexcept {
    position const at = ended.step + 1 < Task::shape.steps ? position{ended.round, ended.step + 1} : position{ended.round + 1, 0};
    open(task, at);
  }

  /// The chunk's work is done and a barrier has passed.
  LULL_HD void commit(directive const& done) noexcept {
    account_.chunks += 1;
    account_.items += done.piece.size();
    if (done.at_once != 0) commit_deferred();
  }

  /// False: the ring is full, and the chunk must be finished.
  LULL_HD bool hand_back(directive const& undone) noexcept {
    if (!ring().push({tagged{tag_, undone.piece.begin}, undone.piece.size()})) {
      account_.refused += 1;
      return false;
    }
    account_.handed_back += 1;
    return true;
  }

  /// The last act but for the account: what is deferred is committed, and the block is out of the slot.
  LULL_HD void leave(std::uint64_t& entry) noexcept {
    assert(claims_ == account_.chunks + account_.handed_back);
    commit_deferred();
    entry_word<World>::leave(entry);
  }

  LULL_HD stay<World> const& stays() const noexcept { return stays_; }
  LULL_HD block_account const& account() const noexcept { return account_; }

 private:
  /// What nearly every call finds: the bubble open, nothing handed back, items left in the phase that is known. One trip to the
  /// L2 for the loads, one for the claim, and few instructions: a single warp runs them while the others wait.
  LULL_HD bool try_next(directive& found, leave_reason& why) noexcept {
    if (!at_known_) return false;
    auto const view = stays_.look();
    bool const perhaps = ring().perhaps();
    tagged const ticket{World::template load<order::relaxed, scope::device>(cursor_->ticket)};
    why = stays_.judge(view);
    bool const usual = ticket.tag() == tag_ && ticket.item() < extent_ && !perhaps;
    return usual && why == leave_reason::stay && claim(found, 0);
  }

  /// The same for everything that can be found. Every round of its loop polls.
  template <class Task>
  LULL_HD LULL_COLD directive next_of_all(Task const& task) noexcept {
    std::uint64_t waits_since_ns = 0;
    for (directive found;;) {
      // Issued together, before anything is decided.
      auto const view = stays_.look();
      bool const perhaps = ring().perhaps();
      tagged const ticket = knows_ ? tagged{World::template load<order::relaxed, scope::device>(cursor_->ticket)} : learn();
      if (leave_reason const why = stays_.judge(view); why != leave_reason::stay) return depart(why, waits_since_ns);

      if (perhaps) {
        if (handed_back const entry = ring().pop(); entry.count != 0) {
          // An entry's phase cannot end before the entry is committed: ticket and limit are found under its tag.
          if (!knows_ || entry.at.tag() != tag_) learn();
          assert(knows_ && entry.at.tag() == tag_);
          if (!at_known_) at_ = position_now();
          at_known_ = true;
          return run(entry.at.item(), entry.count, true, waits_since_ns);
        }
      }
      if (knows_ && ticket.tag() != tag_) {
        forget();
        continue;
      }
      // Where nothing is known, that phase is over and the next not yet open, or never will be: the state says which.
      if (knows_ && ticket.item() < extent_) {
        if (claim(found, waits_since_ns)) return found;
        continue;
      }
      commit_deferred();
      tagged_state const now{World::template load<order::relaxed, scope::device>(cursor_->state)};
      switch (now.state()) {
        case phase_state::finished:
        case phase_state::failed: return depart(leave_reason::finished, waits_since_ns);
        case phase_state::open:
          if (!knows_ || now.tag() != tag_ || !complete()) break;
          [[fallthrough]];
        case phase_state::due:
          if (change(now, phase_state::opening)) {
            end_wait(waits_since_ns);
            return {{position_now(), 0, 0}, action::advance, 0};
          }
          break;
        case phase_state::starved:
          if (change(now, phase_state::opening) && !open(task, position_now())) {
            return depart(leave_reason::starved, waits_since_ns);
          }
          break;
        case phase_state::opening: break;
      }
      wait(waits_since_ns);
    }
  }

  LULL_HD ring_ref<World> ring() const noexcept { return {&cursor_->ends, cursor_->cells, cursor_->capacity}; }

  LULL_HD bool change(tagged_state from, tagged_state to) noexcept {
    // acquire: what led to `from`; release: what led to `to`
    return World::template compare_exchange<order::acq_rel, scope::device>(cursor_->state, from.word(), to.word());
  }
  LULL_HD bool change(tagged_state from, phase_state to) noexcept { return change(from, tagged_state{from.tag(), to}); }

  /// All items of the phase known here are committed.
  LULL_HD bool complete() const noexcept {
    if (World::template load<order::relaxed, scope::device>(cursor_->done) != extent_) return false;
    // acquire: the results of all items; every addition to `done` released its own and carries on those before it
    return World::template load<order::acquire, scope::device>(cursor_->done) == extent_;
  }

  /// First sight of a tag. Ticket and limit each carry it, so that a pair that agrees is one phase's, whichever was read first.
  LULL_HD tagged learn() noexcept {
    tagged const limit{World::template load<order::relaxed, scope::device>(cursor_->limit)};
    grain_ = World::template load<order::relaxed, scope::device>(cursor_->grain);
    // acquire: what earlier phases wrote, and the position of this one
    tagged const ticket{World::template load<order::acquire, scope::device>(cursor_->ticket)};
    knows_ = limit.tag() == ticket.tag();
    tag_ = ticket.tag();
    extent_ = limit.item();
    near_end_ = (2 * blocks_ + 1) * grain_;
    at_known_ = false;
    return ticket;
  }

  /// Means something only while the phase cannot change: with a chunk in hand, or while opening.
  LULL_HD position position_now() const noexcept {
    return {World::template load<order::relaxed, scope::device>(cursor_->round),
            World::template load<order::relaxed, scope::device>(cursor_->step)};
  }

  LULL_HD void forget() noexcept {
    knows_ = false;
    at_known_ = false;
  }

  /// Takes the next items of the open phase. False when there were none left after all.
  LULL_HD bool claim(directive& found, std::uint64_t waits_since_ns) noexcept {
    // With the ticket acquired before, and the claim falling into the same phase behind, the position read between is its.
    position const at = at_known_ ? at_ : position_now();
    std::uint32_t const grain = grain_;
    // relaxed: only the claim; what the phase before wrote was acquired at the first sight of the tag
    tagged const old{World::template fetch_add<order::relaxed, scope::device>(cursor_->ticket, std::uint64_t{grain})};
    if (old.tag() == tag_) {
      at_ = at;
    } else if (!claimed_later(old.tag())) {
      return false;
    }
    if (old.item() >= extent_) return false;
    at_known_ = true;
    std::uint64_t const left = extent_ - old.item();
    found = run(old.item(), grain < left ? grain : left, left < near_end_, waits_since_ns);
    return true;
  }

  /// The claim fell into another phase than the one known. True if that is now known; else it was over meanwhile.
  LULL_HD LULL_COLD bool claimed_later(std::uint32_t tag) noexcept {
    learn();
    if (!knows_ || tag != tag_) return false;
    at_ = position_now();
    return true;
  }

  LULL_HD directive run(std::uint64_t begin, std::uint64_t count, bool at_once, std::uint64_t waits_since_ns) noexcept {
    end_wait(waits_since_ns);
    if (account_.first_ns == 0) account_.first_ns = World::now_ns();
    claims_ += 1;
    return {{at_, begin, begin + count}, action::run, std::uint32_t{at_once}};
  }

  LULL_HD directive depart(leave_reason why, std::uint64_t waits_since_ns) noexcept {
    account_.saw_ns = World::now_ns();
    account_.why = why;
    end_wait(waits_since_ns);
    return {};
  }

  LULL_HD void commit_deferred() noexcept {
    std::uint64_t const deferred = account_.items - committed_;
    if (deferred == 0) return;
    // release: the chunks' results, to whoever finds the phase complete
    World::template fetch_add<order::release, scope::device>(cursor_->done, deferred);
    committed_ = account_.items;
  }

  /// Opens the phase `at`, held in `opening` by this block. False: the task has no input for it.
  template <class Task>
  LULL_HD bool open(Task const& task, position at) noexcept {
    // acquire, system: the input that a copy brought before the stream raised the word
    std::uint64_t const fed = World::template load<order::acquire, scope::system>(cursor_->fed);
    std::uint64_t const items = task.extent(at, fed);
    tagged const limit{World::template load<order::relaxed, scope::device>(cursor_->limit)};  // of the phase that is over
    tagged_state const opening{limit.tag(), phase_state::opening};
    add_up(at);
    if (items == starved) return settle(at, opening, phase_state::starved), false;
    if (items == finished) return settle(at, opening, phase_state::finished), true;
    if (items > most_items(blocks_, grain_ != 0 ? grain_ : 1)) {
      World::template store<order::relaxed, scope::device>(cursor_->why, static_cast<std::uint32_t>(failure::too_many_items));
      return settle(at, opening, phase_state::failed), true;
    }
    World::template store<order::relaxed, scope::device>(cursor_->phases,
                                                         World::template load<order::relaxed, scope::device>(cursor_->phases) + 1);
    if (items == 0) return change(opening, phase_state::due), true;
    tagged const now{limit.tag() + 1, items};
    World::template store<order::relaxed, scope::device>(cursor_->limit, now.word());
    report(at, phase_state::open);
    // The state before the ticket: with the ticket out, the phase's last item may be committed at once, and then the state
    // is changed by whoever sees that.
    if (change(opening, tagged_state{now.tag(), phase_state::open})) {
      // release: limit, position and all that earlier phases wrote, to whoever acquires the ticket
      World::template store<order::release, scope::device>(cursor_->ticket, tagged{now.tag(), 0}.word());
    }
    return true;
  }

  /// The books of the phase that is over, and the position of the next.
  LULL_HD void add_up(position at) noexcept {
    std::uint64_t const done = World::template load<order::relaxed, scope::device>(cursor_->done);
    std::uint64_t const items = World::template load<order::relaxed, scope::device>(cursor_->items);
    World::template store<order::relaxed, scope::device>(cursor_->items, items + done);
    World::template store<order::relaxed, scope::device>(cursor_->done, std::uint64_t{0});
    World::template store<order::relaxed, scope::device>(cursor_->round, at.round);
    World::template store<order::relaxed, scope::device>(cursor_->step, at.step);
  }

  LULL_HD void settle(position at, tagged_state opening, phase_state to) noexcept {
    report(at, to);
    change(opening, to);
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
  std::uint64_t near_end_ = 0;  // with fewer items left, chunks are committed at once: small phases live on that
  // this block's books: of the items of its account, those committed; chunks claimed = run + handed back
  std::uint64_t committed_ = 0;
  std::uint32_t claims_ = 0;
  block_account account_;
};

}  // namespace lull
