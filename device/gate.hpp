// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/trace.hpp>
#include <lull/device/world.hpp>

namespace lull {

/// The device word that says whether a bubble is open: odd is open. Written by the training stream alone (the opening and
/// the closing edge), polled by every worker block; a line of its own, so that nothing else disturbs the polls.
/// Edges carry numbers given out once by the host. Correctness needs odd, even and change, never growth: the value wraps,
/// and a replayed graph repeats its own numbers.
struct alignas(128) gate_line {
  std::uint32_t value;
  std::uint32_t always_zero;  // a stream that waits for it only loses time
  std::uint64_t bubbles;      // opened so far; finds the bubble's record
  std::uint64_t opened_ns;    // when the last one opened
  std::uint64_t working;      // blocks that belong to an open bubble and have not begun to leave; written by them
};

LULL_HD constexpr bool is_open(std::uint32_t value) noexcept { return (value & 1U) != 0; }

/// A gate as device code sees it; passed by value.
struct gate_ref {
  gate_line* line = nullptr;
  bubble_record* records = nullptr;  // (record_mask + 1,)
  std::uint64_t record_mask = 0;
};

/// The opening edge: one thread, on the training stream. `value` is odd; `bubble` counts the gate's bubbles from 1.
/// The record was zeroed by the host when it had read what stood there before: the trainer's stream pays for the stamps alone.
template <class World>
LULL_HD void open_gate(gate_ref gate, std::uint32_t value, std::uint64_t bubble) noexcept {
  bubble_record& now = gate.records[bubble & gate.record_mask];
  World::template store<order::relaxed, scope::device>(now.bubble, static_cast<std::uint32_t>(bubble));
  std::uint64_t const opened_ns = World::now_ns();
  World::template store<order::relaxed, scope::device>(now.opened_ns, opened_ns);
  // relaxed: a block that pairs a new value with an old number only adds to another bubble's record
  World::template store<order::relaxed, scope::system>(gate.line->bubbles, bubble);
  World::template store<order::relaxed, scope::system>(gate.line->opened_ns, opened_ns);
  World::template store<order::relaxed, scope::system>(gate.line->value, value);
}

/// The opening edge of a captured graph: a replay repeats what the host gave it, so bubbles are counted here. Workers are launched
/// ahead and wait until this has ended: it writes what they need and no more. Executables of one capture may overlap.
template <class World>
LULL_HD void open_gate_again(gate_ref gate, std::uint32_t value) noexcept {
  World::template store<order::relaxed, scope::system>(gate.line->value, value);
  World::template fetch_add<order::relaxed, scope::device>(gate.line->bubbles, std::uint64_t{1});
  World::template store<order::relaxed, scope::system>(gate.line->opened_ns, World::now_ns());
}

/// How the closing edge of a captured graph waits for the workers.
struct closing_wait {
  std::uint64_t apart_ns;   // from one of several looks under way at once to the next
  std::uint64_t linger_ns;  // once all blocks have begun to leave
  std::uint64_t most_ns;
};

/// Looks at a word until it is 0; false: the time was over. With several looks under way at once, a part of a trip to the memory
/// apart, the end is seen that much sooner.
template <class World>
LULL_HD bool sees_zero(std::uint64_t& word, std::uint64_t apart_ns, std::uint64_t until_ns) noexcept {
  constexpr int under_way = 4;
  auto const look = [&] { return World::template load<order::relaxed, scope::device>(word); };
  std::uint64_t found[under_way];
  for (int i = 0; i < under_way; ++i) {
    found[i] = look();
    for (std::uint64_t const next_ns = World::now_ns() + apart_ns; World::now_ns() < next_ns;) {
    }
  }
  while (World::now_ns() < until_ns) {
    for (std::uint64_t& each : found) {
      if (each == 0) return true;
      each = look();
    }
  }
  return false;
}

/// The closing edge of a captured graph, where the launch gap behind it is too short to hide the workers' leaving: it ends when
/// all blocks have begun to leave and a little later, or when the time is over. It writes the moments into the record.
template <class World>
LULL_HD void close_gate_again(gate_ref gate, std::uint32_t value, std::uint32_t site, closing_wait const& wait) noexcept {
  World::template store<order::relaxed, scope::system>(gate.line->value, value);
  // Issued together.
  std::uint64_t const bubble = World::template load<order::relaxed, scope::device>(gate.line->bubbles);
  std::uint64_t const opened_ns = World::template load<order::relaxed, scope::device>(gate.line->opened_ns);
  std::uint64_t const working = World::template load<order::relaxed, scope::device>(gate.line->working);
  std::uint64_t const closed_ns = World::now_ns();
  bubble_record& now = gate.records[bubble & gate.record_mask];
  World::template store<order::relaxed, scope::device>(now.site, site);
  World::template store<order::relaxed, scope::device>(now.opened_ns, opened_ns);
  World::template store<order::relaxed, scope::device>(now.closed_ns, closed_ns);
  World::template store<order::relaxed, scope::device>(now.bubble, static_cast<std::uint32_t>(bubble));
  if (working == 0 || !sees_zero<World>(gate.line->working, wait.apart_ns, closed_ns + wait.most_ns)) return;
  for (std::uint64_t const until_ns = World::now_ns() + wait.linger_ns; World::now_ns() < until_ns;) {
  }
}

}  // namespace lull
