// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>

#include <lull/device/cursor.hpp>
#include <lull/device/directive.hpp>
#include <lull/device/known_phase.hpp>
#include <lull/device/lease.hpp>
#include <lull/device/phase_opener.hpp>
#include <lull/device/position.hpp>
#include <lull/device/ring.hpp>
#include <lull/device/slot.hpp>
#include <lull/device/trace.hpp>

namespace lull {

/// Whether rare code is a call of its own, apart from the hot path, or inlined. Inlined for tensor-core products: ptxas
/// serialises them where it finds any call.
enum class rare_code { called, inlined };

/// One block's access to its cursor: claim, commit, hand back, open the next phase. Only the leader calls it, except
/// for `push` and `stays`. A barrier of the team separates two calls. The barrier carries what the leader acquired to
/// the others, and what they wrote to the leader.
template <class World, rare_code Code = rare_code::called>
class claimer {
 public:
  claimer() = default;
  /// `beside`: blocks that were inside before this one.
  LULL_HD claimer(exit_check<World> const& stays, cursor* at, std::uint64_t blocks, std::uint64_t beside,
                  std::uint64_t opened_ns, rest_time rest = {}) noexcept
      : blocks_(blocks), home_(places_of_a_block * beside) {
    known_.cursor = at;
    known_.stays = stays;
    account_.opened_ns = opened_ns;
    rests_.begin(known_.stays, opened_ns, rest);
  }

  /// The yield point after a finished chunk: commits now or later, then looks at gate, ring and ticket. Returns a
  /// chunk, the duty to open the next phase, or the order to leave.
  template <class Task>
  LULL_HD directive next_after(directive const& done, exit_words words, Task const& task) noexcept {
    leave_reason why = leave_reason::none;
    bool exhausted = false;
    directive const found = try_next(done, words, why, exhausted);
    if (found.count != 0) return found;
    return rests_.must_leave(why) ? depart(why, 0, World::now_ns())
                                  : next(words, task, exhausted && why == leave_reason::none);
  }

  /// The yield point, for every case. Each pass of its loop polls. `exhausted`: the caller has just polled and found no
  /// items left in the known phase.
  template <class Task>
  LULL_HD directive next(exit_words words, Task const& task, bool exhausted = false) noexcept {
    if constexpr (Code == rare_code::called) {
      return find_next_apart(words, task, exhausted);
    } else {
      return find_next(words, task, exhausted);
    }
  }

  /// Opens the next phase after the team's `advance`, then continues as `next`.
  template <class Task>
  LULL_HD directive open_next(exit_words words, Task const& task) noexcept {
    directive const taken = open(words, task);
    return taken.count != 0 ? taken : next(words, task);
  }

  /// The yield point after a call during which the team may have seen the end of the stay.
  template <class Task>
  LULL_HD directive next_after_call(exit_look<World> const& within, exit_words words, Task const& task) noexcept {
    leave_reason const why = within.ended ? known_.stays.judge(within.seen) : leave_reason::none;
    return rests_.must_leave(why) ? depart(why, 0, within.seen.now_ns) : next(words, task);
  }

  /// Claims another chunk of the current phase for a team that is still busy, so the phase cannot end meanwhile.
  /// Commits nothing. Returns no items if none are left or the stay has ended.
  LULL_HD directive ahead(exit_words words) noexcept {
    known_phase<World> const known = known_;
    auto const view = exit_check<World>::look(words);
    bool const perhaps = ring_ref<World>{&known.cursor->ring, nullptr, 0, 0}.perhaps();
    std::uint64_t const ticket = World::template load<order::relaxed, scope::device>(known.cursor->ticket);
    if (known.stays.judge(view) != leave_reason::none) return {};
    if (perhaps) {
      if (handed_back const entry = ring().pop(); entry.count != 0) {
        assert(entry.at.tag() == known_.tag());
        return {entry.at.item(), static_cast<std::uint32_t>(entry.count), action::finish};
      }
    }
    if (ticket - known.first >= known.extent) return {};
    // relaxed: as in try_next
    return chunk_of(
        known, tagged{World::template fetch_add<order::relaxed, scope::device>(known.cursor->ticket, known.grain)});
  }

  /// Counts `items` in `chunks` that a task which claims by itself has stored. The next commit includes them, or they
  /// are committed at once.
  LULL_HD void add_done(std::uint64_t items, std::uint64_t chunks, action how) noexcept {
    account_.chunks += chunks;
    account_.items += items;
    if (how == action::finish) commit_deferred();
  }

  /// Returns false if the ring is full: then the team must finish the chunk.
  LULL_HD bool hand_back(directive const& undone) noexcept {
    bool const pushed = push(undone, 0);
    count_pushes(1);
    if (!pushed) count_refusal();
    return pushed;
  }
  /// Does the first half of hand_back. Threads other than the leader may call it at once, after a barrier, each with
  /// its own `number`: a push takes three trips to the L2, and so they overlap.
  LULL_HD bool push(directive const& undone, std::uint64_t number) const noexcept {
    return ring(number).push({tagged{known_.tag(), undone.begin}, undone.count});
  }
  LULL_HD void count_pushes(std::uint32_t pieces) noexcept { account_.handed_back += pieces; }
  /// Counts back one of the pieces that count_pushes has counted: the ring refused it.
  LULL_HD void count_refusal() noexcept {
    account_.handed_back -= 1;
    account_.refused += 1;
  }

  // For a single block that claims alone and hands nothing back. A claim has one item, and as many more as it likes.

  /// As next_after, but claims without a trip to the L2. Returns the next `count` items, or the order to leave. No
  /// items and no such order: none are left, and `next` finds what follows.
  LULL_HD directive next_alone(directive const& done, std::uint32_t count, exit_words words) noexcept {
    known_phase<World> const known = known_;
    auto const view = exit_check<World>::look(words);
    commit(done);
    if (leave_reason const why = known.stays.judge(view); why != leave_reason::none) return depart(why, 0, view.now_ns);
    directive found{done.begin + done.count, 0, action::run};
    if (found.begin < known.extent) claim_more(found, count);
    return found;
  }
  LULL_HD void claim_more(directive& claimed, std::uint32_t count) const noexcept {
    World::template fetch_add<order::relaxed, scope::device>(known_.cursor->ticket,
                                                             std::uint64_t{count - claimed.count});
    claimed.count = count;
  }
  /// Takes back a claim of which nothing was done.
  LULL_HD void give_back(directive const& claimed) const noexcept {
    World::template fetch_add<order::relaxed, scope::device>(known_.cursor->ticket, std::uint64_t{0} - claimed.count);
  }

  /// Fails the open phase, and the job with it.
  LULL_HD void fail(failure why) const noexcept {
    opener().fail(tagged_state{World::template load<order::relaxed, scope::device>(known_.cursor->state)}, why);
  }
  /// Polls, and returns whether the stay has ended.
  LULL_HD bool has_ended(exit_words words) noexcept {
    auto const view = exit_check<World>::look(words);
    leave_reason const why = known_.stays.judge(view);
    if (why != leave_reason::none) depart(why, 0, view.now_ns);
    return why != leave_reason::none;
  }

  /// After a close was seen: notes how long before that the block had looked.
  LULL_HD void note_since_look(std::uint64_t ns) noexcept {
    account_.since_look_ns = static_cast<std::uint32_t>(ns < 0xffff'ffff ? ns : 0xffff'ffff);
  }

  /// The last act but for the account: commits what is deferred and leaves the slot.
  LULL_HD void leave(std::uint64_t& entry) noexcept {
    commit_deferred();
    entry_word<World>::leave(entry);
  }

  LULL_HD exit_check<World> const& stays() const noexcept { return known_.stays; }
  /// Returns the phase of the chunk in hand, or the one that is over. The team may read it while a directive holds.
  LULL_HD position const& at() const noexcept { return at_; }
  LULL_HD block_account const& account() const noexcept { return account_; }

 private:
  static constexpr std::uint64_t min_report_ns = 20'000;  // between two reports of short phases by this block
  static constexpr std::uint32_t looks_at_ticket = 8;    // while it waits: it reads state and commits once in this many
  static constexpr std::uint64_t places_of_a_block = 2;  // of the ring: a block rarely has more chunks in hand

  /// The common case of a yield point: the bubble is open, nothing was handed back, and the known phase has items left.
  /// It takes one trip to the L2 for the loads and one for the claim, while all warps but one wait.
  LULL_HD directive try_next(directive const& done, exit_words words, leave_reason& why, bool& exhausted) noexcept {
    known_phase<World> const known = known_;
    // The cursor's loads come first: after the look they might wait for it (tests/device/yield_point_test.py).
    bool const perhaps = ring_ref<World>{&known.cursor->ring, nullptr, 0, 0}.perhaps();
    std::uint64_t const ticket = World::template load<order::relaxed, scope::device>(known.cursor->ticket);
    auto const view = exit_check<World>::look(words);
    why = known.stays.judge(view);
    // Compares tag and item at once: under another tag the difference exceeds every extent.
    if (why != leave_reason::none || perhaps || ticket - known.first >= known.extent) {
      commit(done);
      exhausted = !perhaps && tagged{ticket}.tag() == known.tag();
      return {};
    }
    // relaxed: the first sight of the tag acquired what the phase before wrote
    tagged const claim{World::template fetch_add<order::relaxed, scope::device>(known.cursor->ticket, known.grain)};
    commit(done);  // meanwhile
    return chunk_of(known, claim);
  }

  template <class Task>
  LULL_HD directive find_next(exit_words words, Task const& task, bool exhausted) noexcept {
    std::uint64_t waits_since_ns = 0;
    for (std::uint32_t looks = 0;; ++looks) {
      if (!exhausted) {
        // Issue all loads together before deciding: their latencies overlap.
        auto const view = exit_check<World>::look(words);
        bool const perhaps = ring().perhaps();
        // acquire: what earlier phases wrote, and the limit and the position of this one
        tagged const ticket{World::template load<order::acquire, scope::device>(known_.cursor->ticket)};
        if (leave_reason const why = known_.stays.judge(view); why != leave_reason::none) {
          if (rests_.must_leave(why)) return depart(why, waits_since_ns, view.now_ns);
          commit_deferred();
          rests_.end_if_over(known_.stays, view.now_ns);
          wait(waits_since_ns);
          continue;
        }
        if (perhaps) {
          if (handed_back const entry = ring().pop(); entry.count != 0) {
            // An entry's phase cannot end before the entry is committed, so ticket and limit have its tag.
            if (!known_.knows(entry.at.tag())) learn();
            assert(known_.knows(entry.at.tag()));
            begin_work(waits_since_ns);
            return {entry.at.item(), static_cast<std::uint32_t>(entry.count), action::finish};
          }
        }
        if (!known_.knows(ticket.tag())) {
          learn(ticket);
          looks = 0;
        }
        if (ticket.item() < known_.extent) {
          directive const found = chunk_of(known_, tagged{World::template fetch_add<order::relaxed, scope::device>(
                                                       known_.cursor->ticket, known_.grain)});
          if (found.count == 0) continue;
          begin_work(waits_since_ns);
          return found;
        }
      }
      exhausted = false;
      // If no phase is known, that phase is over and the next is not yet open, or never will be: the state says which.
      // In a known phase, the block that commits the last items sees at once that it is complete, unless it leaves. So
      // the others look rarely and do not hold up writers of these words.
      if (looks % looks_at_ticket == 0) {
        commit_deferred();
        tagged_state const now{World::template load<order::relaxed, scope::device>(known_.cursor->state)};
        // acquire: the results of all items; every addition to `done` released its own and carries on those before it
        std::uint64_t const done = World::template load<order::acquire, scope::device>(known_.cursor->done);
        switch (now.state()) {
          case phase_state::finished:
          case phase_state::failed:
            return depart(leave_reason::finished, waits_since_ns, World::now_ns());
          case phase_state::open:
            if (!known_.knows(now.tag()) || done != known_.extent) break;
            [[fallthrough]];
          case phase_state::due:
            if (!opener().hold(now)) break;
            end_wait(waits_since_ns);
            if (now.state() == phase_state::due) at_ = position_of<World>(*known_.cursor);
            if constexpr (has_advance<Task>) {
              return {0, 0, action::advance};
            } else {
              if (directive const taken = open(words, task); taken.count != 0) return taken;
              waits_since_ns = 0;
              looks = ~std::uint32_t{0};
              continue;
            }
          case phase_state::starved:
            if (!opener().ask_again(task, now)) return depart(leave_reason::starved, waits_since_ns, World::now_ns());
            break;
          case phase_state::opening:
            break;
        }
      }
      wait(waits_since_ns);
    }
  }
  template <class Task>
  LULL_HD LULL_COLD directive find_next_apart(exit_words words, Task const& task, bool exhausted) noexcept {
    return find_next(words, task, exhausted);
  }

  /// Opens the phase after the one held in `opening`. If the whole phase is one chunk, the block takes it at once
  /// unless its stay has ended: other blocks would need some microseconds to find it.
  template <class Task>
  LULL_HD directive open(exit_words words, Task const& task) noexcept {
    auto const view = exit_check<World>::look(words);
    position const next =
        at_.step + 1 < Task::shape.steps ? position{at_.round, at_.step + 1} : position{at_.round + 1, 0};
    using opener_of = phase_opener<World>;
    bool const lately = view.now_ns - reported_ns_ < min_report_ns;
    auto const opened = opener().open(
        task, next,
        [&](std::uint64_t items) { return items <= known_.grain && known_.stays.judge(view) == leave_reason::none; },
        lately ? opener_of::reports::of_others : opener_of::reports::each);
    if (opened.reported) reported_ns_ = view.now_ns;
    if (!opened.taken) return {};
    know(opened.limit, next);
    begin_work(0);
    return {0, static_cast<std::uint32_t>(known_.extent), action::finish};
  }

  /// Makes a chunk of a claim; without items if none were left. The claim added the grain of `known`, which may have
  /// changed since.
  LULL_HD directive chunk_of(known_phase<World> const& known, tagged claimed) noexcept {
    std::uint64_t const begin = claimed.word() - known.first;
    if (begin < known.extent) return known.piece(begin, known.grain);
    if constexpr (Code == rare_code::called) {
      return look_closer_apart(claimed, known.grain);
    } else {
      return look_closer(claimed, known.grain);
    }
  }
  LULL_HD LULL_COLD directive look_closer_apart(tagged claimed, std::uint64_t added) noexcept {
    return look_closer(claimed, added);
  }
  LULL_HD directive look_closer(tagged claimed, std::uint64_t added) noexcept {
    if (!known_.knows(claimed.tag())) {  // the claim is in another phase: learn it; it may be over
      learn();
      if (!known_.knows(claimed.tag())) return {};
    }
    return claimed.item() < known_.extent ? known_.piece(claimed.item(), added) : directive{};
  }

  LULL_HD ring_ref<World> ring(std::uint64_t number = 0) const noexcept {
    return {&known_.cursor->ring, known_.cursor->places, known_.cursor->capacity, home_ + number};
  }

  LULL_HD phase_opener<World> opener() const noexcept {
    return {*known_.cursor, max_items(blocks_, known_.grain != 0 ? known_.grain : 1), account_.opened_ns};
  }

  LULL_HD void learn() noexcept {
    // acquire: as in find_next
    learn(tagged{World::template load<order::acquire, scope::device>(known_.cursor->ticket)});
  }
  /// Learns a phase at the first sight of its tag, from its acquired ticket. Ticket and limit each carry the tag, so a
  /// pair that agrees belongs to one phase. The position belongs to that phase, too, unless it is over; then no claim
  /// or entry has its tag.
  LULL_HD void learn(tagged ticket) noexcept {
    tagged const limit{World::template load<order::relaxed, scope::device>(known_.cursor->limit)};
    known_.grain = World::template load<order::relaxed, scope::device>(known_.cursor->grain);
    position const at = position_of<World>(*known_.cursor);
    if (limit.tag() == ticket.tag()) {
      know(limit, at);
    } else {
      known_.extent = 0;
    }
  }
  LULL_HD void know(tagged limit, position at) noexcept {
    at_ = at;
    known_.know(limit, blocks_);
  }

  LULL_HD void commit(directive const& done) noexcept {
    account_.chunks += 1;
    account_.items += done.count;
    if (done.what == action::finish) commit_deferred();
  }

  LULL_HD void begin_work(std::uint64_t waits_since_ns) noexcept {
    end_wait(waits_since_ns);
    if (account_.first_ns == 0) account_.first_ns = World::now_ns();
  }

  LULL_HD directive depart(leave_reason why, std::uint64_t waits_since_ns, std::uint64_t saw_ns) noexcept {
    account_.saw_ns = saw_ns;
    account_.why = why;
    end_wait(waits_since_ns);
    return {};
  }

  LULL_HD void commit_deferred() noexcept {
    std::uint64_t const deferred = account_.items - committed_;
    if (deferred == 0) return;
    // release: the chunks' results, to the block that finds the phase complete
    World::template fetch_add<order::release, scope::device>(known_.cursor->done, deferred);
    committed_ = account_.items;
  }

  LULL_HD void wait(std::uint64_t& since_ns) noexcept {
    if (since_ns == 0) since_ns = World::now_ns();
    World::pause();
  }

  LULL_HD void end_wait(std::uint64_t since_ns) noexcept {
    if (since_ns != 0) account_.wait_ns += World::now_ns() - since_ns;
  }

  known_phase<World> known_;
  position at_;
  std::uint64_t blocks_ = 1;
  std::uint64_t home_ = 0;  // where to search the ring first
  // items of this block's account that are committed
  std::uint64_t committed_ = 0;
  block_account account_;
  std::uint64_t reported_ns_ = 0;  // last report of a phase to the host
  rests<World> rests_;
};

}  // namespace lull
