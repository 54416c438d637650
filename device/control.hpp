// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/slot.hpp>

namespace lull {

/// What control puts into a slot. A null `at` empties it.
struct slot_content {
  cursor* at = nullptr;
  std::uint64_t lease_ns = 0;
  functor_bytes functor;
};

/// Puts `content` into the slot while no block is inside. One thread calls it, and calls for one slot come one after
/// another. Returns false if a block was still inside after `limit_ns`; then nothing has changed. This wait, not stream
/// order, makes a change safe while a captured graph replays.
template <class World>
LULL_HD bool exchange(slot_line& slot, slot_content const& content, std::uint64_t limit_ns) noexcept {
  using entry = entry_word<World>;
  std::uint64_t const until_ns = World::now_ns() + limit_ns;
  // relaxed: a block that enters from now on sees the flag in the same word
  World::template fetch_or<order::relaxed, scope::device>(slot.entry, entry::held);
  // acquire: what the blocks did before they left
  std::uint64_t seen = World::template load<order::acquire, scope::device>(slot.entry);
  for (; entry::inside(seen) != 0; seen = World::template load<order::acquire, scope::device>(slot.entry)) {
    if (World::now_ns() >= until_ns) {
      World::template fetch_and<order::release, scope::device>(slot.entry, ~entry::held);
      return false;
    }
    World::pause();
  }
  std::uint64_t const generation = (entry::generation(seen) + 1) & entry::generation_mask;
  World::template store<order::relaxed, scope::device>(slot.at, tagged_cursor{generation, content.at}.word());
  World::template store<order::relaxed, scope::system>(slot.lease_ns, content.lease_ns);
  auto const* from = reinterpret_cast<std::uint64_t const*>(content.functor.bytes);
  auto* to = reinterpret_cast<std::uint64_t*>(slot.functor.bytes);
  for (std::uint64_t i = 0; i < max_functor_bytes / sizeof *to; ++i) to[i] = from[i];
  // Blocks that found the flag come and go meanwhile, so the loop keeps their count.
  // release: the content, to the acquire of each block that enters
  for (;;) {
    std::uint64_t const now = World::template load<order::relaxed, scope::device>(slot.entry);
    if (World::template compare_exchange<order::release, scope::device>(
            slot.entry, now, generation << entry::inside_bits | entry::inside(now))) {
      return true;
    }
  }
}

}  // namespace lull
