// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/slot.hpp>
#include <lull/device/trace.hpp>

namespace lull {

/// The three things that end a block's stay, looked at together at every yield point and in every wait: the gate's value
/// differs from the one that the block belongs to; its lease is over; the slot is held.
template <class World>
class stay {
 public:
  stay() = default;
  /// `value` is the gate's value when the block started, `started_ns` when that was.
  LULL_HD stay(slot_line* slot, std::uint32_t value, std::uint64_t started_ns) noexcept
      : slot_(slot),
        line_(slot->gate.line),
        ends_ns_(started_ns + World::template load<order::relaxed, scope::system>(slot->lease_ns)),
        value_(value) {}

  LULL_HD leave_reason look() const noexcept {
    // relaxed, system: NCCL's kernels, and stream memory operations, live in another memory domain; nothing is published by it
    std::uint32_t const value = World::template load<order::relaxed, scope::system>(line_->value);
    bool const held = entry_word<World>::is_held(slot_->entry);
    if (value != value_) return leave_reason::closed;
    if (held) return leave_reason::held;
    return World::now_ns() >= ends_ns_ ? leave_reason::lease : leave_reason::stay;
  }

 private:
  slot_line* slot_ = nullptr;
  gate_line* line_ = nullptr;
  std::uint64_t ends_ns_ = 0;
  std::uint32_t value_ = 0;
};

}  // namespace lull
