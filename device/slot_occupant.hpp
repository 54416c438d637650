// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/claimer.hpp>
#include <lull/device/lease.hpp>
#include <lull/device/slot.hpp>
#include <lull/device/team.hpp>
#include <lull/device/trace.hpp>

namespace lull {

/// How one block enters and leaves a bubble's slot; its leader calls `enter` and `leave`. `Kept` is what the block
/// keeps while it is inside; it has members `claims` and `record`.
template <class World, class Kept, block Block>
class slot_occupant {
 protected:
  LULL_HD slot_occupant(worker_params const& params, Block const& block) noexcept
      : params_(params), block_(block), kept_(block_.template keep<Kept>()) {}

  LULL_HD exit_words words() const noexcept { return {params_.slot, params_.gate.line}; }

  /// Returns false if the block is not inside; it has then left again whatever it had entered.
  LULL_HD bool enter() noexcept {
    using entry = entry_word<World>;
    if (params_.in_graph != 0) block_.await_launch_order();
    std::uint64_t const started_ns = World::now_ns();
    slot_line& slot = *params_.slot;
    // Issued together, so that latencies overlap. A gate value that is stale by the time the block is inside only makes
    // it leave. A cursor is trusted only if it has the generation that the block entered.
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
      // A block that the host has released may come before its bubble opens: it is not late, and the record belongs to
      // the bubble before.
      if (!is_open(value) && bubble >= params_.bubble)
        World::template fetch_add<order::relaxed, scope::device>(kept_.record->late_blocks, std::uint32_t{1});
      if (entered) entry::leave(slot.entry);
      block_.count_out(params_.sms);
      return false;
    }
    // relaxed: nothing is published; a closing edge that misses it costs only time
    World::template fetch_add<order::relaxed, scope::device>(params_.gate.awaited->working, std::uint64_t{1});
    if (params_.again != 0) opened_ns = started_ns;
    kept_.claims = {stays, found.at(), block_.blocks(), entry::inside(before), opened_ns, rest};
    return true;
  }

  LULL_HD void leave() noexcept {
    // A captured closing edge waits for this; when its kernel has ended, the block is gone.
    World::template fetch_add<order::relaxed, scope::device>(params_.gate.awaited->working, entry_word<World>::one_out);
    kept_.claims.leave(params_.slot->entry);
    block_.count_out(params_.sms);
    add<World>(*kept_.record, kept_.claims.account());
  }

  /// relaxed: a block that misses a change costs one bubble
  LULL_HD static bool is_set(std::uint32_t* word) noexcept {
    return word != nullptr && World::template load<order::relaxed, scope::device>(*word) != 0;
  }

  /// relaxed: two words that do not belong together are a wrong hint, which costs only time
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

  /// Looks again where the block's bubble does not seem open: the edge that let the block start is still storing, or
  /// the host has released the block. A released block leaves, also if an earlier bubble is open, because the host may
  /// have read that record already. Takes no `*this`: that would put the worker into local memory, where each block
  /// finds it 1.5 µs later.
  LULL_HD LULL_COLD static std::uint32_t look_again(gate_line* line, std::uint64_t of_bubble,
                                                    std::uint64_t since_ns) noexcept {
    std::uint32_t value = 0;
    do {
      value = World::template load<order::relaxed, scope::system>(line->value);
      if (is_open(value) && World::template load<order::relaxed, scope::system>(line->bubbles) >= of_bubble) break;
    } while (World::now_ns() - since_ns < settles_within_ns);
    return value;
  }

  /// Where several workers were launched at once, those without a task leave at once. A block over its SM's share waits
  /// for that. A block on a reserved SM waits as long before it exits; otherwise the hardware would refill that SM with
  /// the next block.
  LULL_HD bool finds_place(std::uint64_t started_ns) const noexcept {
    if (params_.sms.together == 0) return false;
    while (World::now_ns() - started_ns < settles_within_ns) {
      if (block_.may_stay_now(params_.sms)) return true;
      if (World::template load<order::relaxed, scope::device>(params_.gate.awaited->working) >= params_.sms.together)
        return false;
    }
    return false;
  }
};

}  // namespace lull
