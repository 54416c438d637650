// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/trace.hpp>
#include <lull/device/world.hpp>

namespace lull {

/// What a trainer's stream may wait for after a close. Only workers of this process write there: a line that other
/// processes map has these words elsewhere.
struct awaited_words {
  std::uint64_t working;      // blocks that belong to an open bubble and have not begun to leave; written by them
  std::uint32_t always_zero;  // a stream that waits for it only loses time
  std::uint32_t padding;
};

/// The device word that says whether a bubble is open: odd is open. Only the training stream writes it (opening and
/// closing edge), and every worker block polls it. It has a cache line of its own, so that nothing else disturbs the
/// polls. The host gives each edge's number out once. Correctness needs odd, even and change, never growth: the value
/// wraps, and a replayed graph repeats its own numbers.
struct alignas(128) gate_line {
  std::uint32_t value;
  std::uint32_t padding;
  std::uint64_t bubbles;    // opened so far; selects the bubble's record
  std::uint64_t opened_ns;  // of the last opening
  awaited_words awaited;    // unless gate_ref::awaited says otherwise
};

LULL_HD constexpr bool is_open(std::uint32_t value) noexcept { return (value & 1U) != 0; }

/// What the opening edge tells the host, in host memory that the device addresses, too: the host sees an opening
/// without a call to the driver. Workers that were enqueued before their bubble wait on the device until `go` reaches
/// its number.
struct alignas(128) opening_line {
  std::uint64_t opened_ns;  // moment of the last opening
  std::uint64_t numbers;    // opening_numbers
};

/// The two numbers that an opening edge stores at once, each the low half of its bubble's number. `opened`: the stream
/// has come there. `go`: the worker may start. The host may raise `go`, too, to end a wait that takes too long.
struct opening_numbers {
  static constexpr int go_bits = 32;  // `go` is the upper half: a stream waits for a word of 32 bits

  std::uint32_t opened = 0;
  std::uint32_t go = 0;

  LULL_HD static constexpr opening_numbers of(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> go_bits)};
  }
  LULL_HD constexpr std::uint64_t word() const noexcept { return std::uint64_t{go} << go_bits | opened; }
};

/// A gate as device code sees it; passed by value.
struct gate_ref {
  gate_line* line = nullptr;
  bubble_record* records = nullptr;  // (record_mask + 1,)
  std::uint64_t record_mask = 0;
  opening_line* opening = nullptr;   // null: the host is not told
  awaited_words* awaited = nullptr;  // those of the line, or of this process
};

/// Returns whether a 32-bit count that may have wrapped has come as far as another.
LULL_HD constexpr bool has_reached(std::uint32_t count, std::uint32_t other) noexcept {
  return static_cast<std::int32_t>(count - other) >= 0;
}

/// The opening edge: one thread on the training stream. `value` is odd; `bubble` counts the gate's bubbles from 1. The
/// host zeroed the record after it had read the old one, so the trainer's stream pays for the stamps alone.
template <class World>
LULL_HD void open_gate(gate_ref gate, std::uint32_t value, std::uint64_t bubble) noexcept {
  std::uint64_t const opened_ns = World::now_ns();
  bubble_record& now = gate.records[bubble & gate.record_mask];
  auto const number = static_cast<std::uint32_t>(bubble);
  // relaxed: a block may pair a new value with an old number or moment. It then only adds to another bubble's record,
  // or does not ask a job that starved in that one
  World::template store<order::relaxed, scope::system>(gate.line->value, value);
  World::template store<order::relaxed, scope::system>(gate.line->bubbles, bubble);
  World::template store<order::relaxed, scope::system>(gate.line->opened_ns, opened_ns);
  World::template store<order::relaxed, scope::device>(now.bubble, number);
  World::template store<order::relaxed, scope::device>(now.opened_ns, opened_ns);
  if (gate.opening == nullptr) return;
  // relaxed: a release would wait for memory, 1 to 2 µs, and workers would start later by that. A block that starts and
  // still sees the old value looks again; the host reads the record after the workers have left.
  World::template store<order::relaxed, scope::system>(gate.opening->numbers, opening_numbers{number, number}.word());
  // relaxed: with an older moment the host only expects the next bubble at another time
  World::template store<order::relaxed, scope::system>(gate.opening->opened_ns, opened_ns);
}

/// Runs after a closing edge whose launch gap is too short to hide the workers' leaving. Returns when all blocks have
/// begun to leave, or after `max_ns`. It waits for nothing that is queued after it.
template <class World>
LULL_HD void await_leaving(awaited_words& words, std::uint64_t max_ns) noexcept {
  std::uint64_t const since_ns = World::now_ns();
  for (std::uint32_t looks = 1;; ++looks) {
    // relaxed: nothing is published; a block that it misses costs only time
    if (World::template load<order::relaxed, scope::device>(words.working) == 0) return;
    if (looks % 32 == 0 && World::now_ns() - since_ns >= max_ns) return;
  }
}

/// The opening edge of a captured graph. It counts the bubbles, because a replay repeats what the host gave it. Workers
/// are launched early and wait until it has ended, so it writes only what they need. Executables of one capture may
/// overlap.
template <class World>
LULL_HD void open_captured_gate(gate_ref gate, std::uint32_t value) noexcept {
  World::template store<order::relaxed, scope::system>(gate.line->value, value);
  World::template fetch_add<order::relaxed, scope::device>(gate.line->bubbles, std::uint64_t{1});
  World::template store<order::relaxed, scope::system>(gate.line->opened_ns, World::now_ns());
}

/// The closing edge of a captured graph, where the launch gap after it is too short to hide the workers' leaving. It
/// ends when all blocks have begun to leave, or after `max_ns`. Writes the moments into the record. Returns whether
/// blocks were working.
template <class World>
LULL_HD bool close_captured_gate(gate_ref gate, std::uint32_t value, std::uint32_t site,
                                 std::uint64_t max_ns) noexcept {
  World::template store<order::relaxed, scope::system>(gate.line->value, value);
  // Issued together, so that their latencies overlap.
  std::uint64_t const bubble = World::template load<order::relaxed, scope::device>(gate.line->bubbles);
  std::uint64_t const opened_ns = World::template load<order::relaxed, scope::device>(gate.line->opened_ns);
  std::uint64_t const working = World::template load<order::relaxed, scope::device>(gate.awaited->working);
  std::uint64_t const closed_ns = World::now_ns();
  bubble_record& now = gate.records[bubble & gate.record_mask];
  World::template store<order::relaxed, scope::device>(now.site, site);
  World::template store<order::relaxed, scope::device>(now.opened_ns, opened_ns);
  World::template store<order::relaxed, scope::device>(now.closed_ns, closed_ns);
  World::template store<order::relaxed, scope::device>(now.bubble, static_cast<std::uint32_t>(bubble));
  if (working != 0) await_leaving<World>(*gate.awaited, max_ns);
  return working != 0;
}

}  // namespace lull
