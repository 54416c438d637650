// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <lull/device/world.hpp>

namespace lull {

/// Why a block left.
enum class leave_reason : std::uint32_t { none = 0, closed, lease, held, finished, starved };

/// What happened in one bubble, summed over its blocks. A gate has a ring of them. Blocks add to their bubble's record
/// when they leave, by operations that return nothing; the host copies finished records later. Distributions, the
/// account of lost harvest and the trace all come from these. Times are in ns of the world's clock.
struct alignas(128) bubble_record {
  std::uint32_t bubble;  // low half of the bubble's number on its gate; an edge writes it and the next three
  std::uint32_t site;    // in a captured graph: where in the step it is
  std::uint64_t opened_ns;
  std::uint64_t closed_ns;    // in a captured graph; else 0
  std::uint64_t last_in_ns;   // latest block to find its first chunk
  std::uint64_t not_saw_ns;   // ~(earliest sight of the close), kept as a maximum
  std::uint64_t last_out_ns;  // latest block to leave
  std::uint64_t in_ns;        // sums over blocks: opening → first chunk
  std::uint64_t wait_ns;      // … waiting for a phase
  std::uint64_t stay_ns;      // … first chunk → leaving
  std::uint64_t early_ns;     // … opening → leaving, of blocks that left before the close
  std::uint64_t items;
  std::uint32_t chunks;
  std::uint32_t since_look_ns;   // of that sight: time since the look before, if a graph's piece ran; or 0
  std::uint32_t blocks;          // that found a chunk
  std::uint32_t lease_blocks;    // left by lease
  std::uint32_t held_blocks;     // left for control
  std::uint32_t idle_blocks;     // left because the task was finished
  std::uint32_t starved_blocks;  // left because the task had no input
  std::uint32_t handed_back;     // chunks
  std::uint32_t late_blocks;     // came to a closed gate
  std::uint32_t refused;         // chunks finished because the ring was full
};

static_assert(sizeof(bubble_record) == 128 && std::is_trivially_copyable_v<bubble_record>);

/// One block's account of its stay; its leader keeps it.
struct block_account {
  std::uint64_t opened_ns = 0;  // of the bubble
  std::uint64_t first_ns = 0;   // first chunk found; 0: none
  std::uint64_t saw_ns = 0;     // when it saw what ended the stay
  std::uint64_t wait_ns = 0;
  std::uint64_t items = 0;
  std::uint32_t since_look_ns = 0;  // of the sight of a close: time since the look before, where that was long
  std::uint32_t chunks = 0;
  std::uint32_t handed_back = 0;
  std::uint32_t refused = 0;
  leave_reason why = leave_reason::none;
};

/// Adds a leaving block's account, as the block's last act. Waits for nothing.
template <class World>
LULL_HD void add(bubble_record& record, block_account const& block) noexcept {
  auto const sum = [](auto& word, auto value) {
    if (value != 0) World::template fetch_add<order::relaxed, scope::device>(word, value);
  };
  std::uint64_t const out_ns = World::now_ns();
  World::template fetch_max<order::relaxed, scope::device>(record.last_out_ns, out_ns);
  if (block.why == leave_reason::closed) {
    World::template fetch_max<order::relaxed, scope::device>(record.not_saw_ns, ~block.saw_ns);
    sum(record.since_look_ns, block.since_look_ns);  // only of a block that is alone
  } else {
    sum(record.early_ns, out_ns - block.opened_ns);
    sum(record.lease_blocks, std::uint32_t{block.why == leave_reason::lease});
    sum(record.held_blocks, std::uint32_t{block.why == leave_reason::held});
    sum(record.idle_blocks, std::uint32_t{block.why == leave_reason::finished});
    sum(record.starved_blocks, std::uint32_t{block.why == leave_reason::starved});
  }
  if (block.first_ns == 0) return;
  World::template fetch_max<order::relaxed, scope::device>(record.last_in_ns, block.first_ns);
  sum(record.in_ns, block.first_ns - block.opened_ns);
  sum(record.wait_ns, block.wait_ns);
  sum(record.stay_ns, out_ns - block.first_ns);
  sum(record.chunks, block.chunks);
  sum(record.items, block.items);
  sum(record.blocks, std::uint32_t{1});
  sum(record.handed_back, block.handed_back);
  sum(record.refused, block.refused);
}

}  // namespace lull
