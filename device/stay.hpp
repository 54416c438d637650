// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/claimer.hpp>
#include <lull/device/lease.hpp>
#include <lull/device/slot.hpp>
#include <lull/device/team.hpp>
#include <lull/device/trace.hpp>

namespace lull {

/// How one block comes into a bubble's slot and out of it again; its leader calls `enter` and `leave`. `Kept` is what
/// the block keeps while it is inside, with `claims` and `record` among it.
template <class World, class Kept, block Block>
class stay {
 protected:
  LULL_HD stay(worker_params const& params, Block const& block) noexcept
      : params_(params), block_(block), kept_(block_.template keep<Kept>()) {}

  LULL_HD exit_words words() const noexcept { return {params_.slot, params_.gate.line}; }

  /// False: not inside, whatever was entered is left again.
  LULL_HD bool enter() noexcept {
    using entry = entry_word<World>;
    if (params_.in_graph != 0) block_.await_launch_order();
    std::uint64_t const started_ns = World::now_ns();
    slot_line& slot = *params_.slot;
    // Issued together. A gate value that is old by the time the block is in only makes it leave, and a cursor is
    // trusted only if it is of the generation that the block entered.
    std::uint32_t value = World::template load<order::relaxed, scope::system>(params_.gate.line->value);
    std::uint64_t bubble = World::template load<order::relaxed, scope::system>(params_.gate.line->bubbles);
    std::uint64_t opened_ns = World::template load<order::relaxed, scope::system>(params_.gate.line->opened_ns);
    tagged_cursor found{World::template load<order::relaxed, scope::device>(slot.at)};
    bool const skipped = params_.site != nullptr && is_set(&params_.site->skip);
    rest_time const rest = rest_of_site();
    bool const withheld = is_set(params_.withheld);
    if (bubble < params_.bubble) {
      value = look_again(params_.gate.line, params_.bubble, started_ns);
      bubble = World::template load<order::relaxed, scope::system>(params_.gate.line->bubbles);
      opened_ns = World::template load<order::relaxed, scope::system>(params_.gate.line->opened_ns);
    }
    exit_check<World> const stays{params_, value, started_ns};
    std::uint32_t const beside = block_.count_in(params_.sms);
    std::uint64_t const before = entry::enter(slot.entry);
    bool const entered = (before & entry::held) == 0;
    if (entered && found.generation() != entry::generation(before)) {
      found = tagged_cursor{World::template load<order::relaxed, scope::device>(slot.at)};
    }
    kept_.record = &params_.gate.records[bubble & params_.gate.record_mask];
    bool const wanted =
        entered && is_open(value) && bubble >= params_.bubble && !skipped && !withheld && found.at() != nullptr;
    if (!wanted || !(block_.may_stay(params_.sms, beside) || finds_place(started_ns))) {
      // One that the host has released comes before its bubble: it is not late, and the record is that of the bubble
      // before.
      if (!is_open(value) && bubble >= params_.bubble)
        World::template fetch_add<order::relaxed, scope::device>(kept_.record->late_blocks, std::uint32_t{1});
      if (entered) entry::leave(slot.entry);
      block_.count_out(params_.sms);
      return false;
    }
    // relaxed: nothing is published; a closing edge that misses it costs time alone
    World::template fetch_add<order::relaxed, scope::device>(params_.gate.line->working, std::uint64_t{1});
    kept_.claims = {stays, found.at(), block_.blocks(), entry::inside(before), opened_ns, rest};
    return true;
  }

  LULL_HD void leave() noexcept {
    // A captured closing edge waits for this; by the time its kernel has ended the block is gone.
    World::template fetch_add<order::relaxed, scope::device>(params_.gate.line->working, entry_word<World>::one_out);
    kept_.claims.leave(params_.slot->entry);
    block_.count_out(params_.sms);
    add<World>(*kept_.record, kept_.claims.account());
  }

  /// relaxed: what a block that misses a change costs is one bubble
  LULL_HD static bool is_set(std::uint32_t* word) noexcept {
    return word != nullptr && World::template load<order::relaxed, scope::device>(*word) != 0;
  }

  /// relaxed: of two that do not belong together, one that is no hint at all costs time alone
  LULL_HD rest_time rest_of_site() const noexcept {
    if (params_.site == nullptr) return params_.rest;
    return {World::template load<order::relaxed, scope::device>(params_.site->rest.from_ns),
            World::template load<order::relaxed, scope::device>(params_.site->rest.until_ns)};
  }

  worker_params const& params_;
  Block const block_;
  Kept& kept_;

 private:
  static constexpr std::uint64_t settles_within_ns = 4'000;

  /// Its bubble has not opened, as far as can be seen: the edge that let the block start is still storing, or the host
  /// has let it go. Then it leaves, also where an earlier bubble is open, whose record may have been read already. A
  /// call that takes the worker itself would put it into local memory, where each block finds it 1.5 µs later.
  LULL_HD LULL_COLD static std::uint32_t look_again(gate_line* line, std::uint64_t of_bubble,
                                                    std::uint64_t since_ns) noexcept {
    std::uint32_t value = 0;
    do {
      value = World::template load<order::relaxed, scope::system>(line->value);
      if (is_open(value) && World::template load<order::relaxed, scope::system>(line->bubbles) >= of_bubble) break;
    } while (World::now_ns() - since_ns < settles_within_ns);
    return value;
  }

  /// Where workers of several kinds were launched at once, those without a task leave at once. A block over its
  /// processor's share waits for that. A block on a reserved SM waits as long before it exits; otherwise the hardware
  /// would refill that SM with the next block.
  LULL_HD bool finds_place(std::uint64_t started_ns) const noexcept {
    if (params_.sms.together == 0) return false;
    while (World::now_ns() - started_ns < settles_within_ns) {
      if (block_.may_stay_now(params_.sms)) return true;
      if (World::template load<order::relaxed, scope::device>(params_.gate.line->working) >= params_.sms.together)
        return false;
    }
    return false;
  }
};

}  // namespace lull
