// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <lull/device/cursor.hpp>
#include <lull/device/gate.hpp>
#include <lull/device/side_task.hpp>

namespace lull {

/// Which processors a worker's blocks may stay on; constant while the slot lives, zero where nothing is asked.
struct room_plan {
  std::uint32_t kept_off[8];  // a bit for each SM id: a block that finds itself there exits at once
  std::uint32_t* inside;      // (SM ids,) worker blocks now on that SM; null: the share is not watched
  std::uint32_t share;        // a block over its SM's share exits at once
  std::uint32_t unused;
};

/// Where a worker finds its task. A worker kernel takes one pointer, to a slot; what stands there changes only while the
/// slot is *held* and nobody is inside (control.hpp), never by stream order: so it is safe while a graph is replayed.
struct alignas(128) slot_line {
  std::uint64_t entry;     // held 1 : inside 63
  std::uint64_t lease_ns;  // the longest that a block may stay; the host may change it at any time
  gate_ref gate;           // constant while the slot lives
  cursor* at;              // null: the slot is empty
  std::uint64_t unused;
  room_plan rooms;
  functor_bytes functor;
};

static_assert(std::is_trivially_copyable_v<slot_line> && offsetof(slot_line, functor) == 112);

/// The entry word: counts the blocks inside and carries the flag that keeps others out.
template <class World>
struct entry_word {
  static constexpr std::uint64_t held = std::uint64_t{1} << 63;

  /// False: the slot is held, and the block is out again.
  LULL_HD static bool enter(std::uint64_t& word) noexcept {
    // acquire: what control wrote before it lowered the flag
    if ((World::template fetch_add<order::acquire, scope::device>(word, std::uint64_t{1}) & held) == 0) return true;
    leave(word);
    return false;
  }
  /// release: all that the block did, to control that waits for nobody inside
  LULL_HD static void leave(std::uint64_t& word) noexcept {
    World::template fetch_add<order::release, scope::device>(word, ~std::uint64_t{0});
  }
  LULL_HD static bool is_held(std::uint64_t& word) noexcept {
    return (World::template load<order::relaxed, scope::device>(word) & held) != 0;
  }
};

/// The functor in a slot, as the task that it is.
template <side_task Task>
LULL_HD Task const& task_in(slot_line const& slot) noexcept {
  return *reinterpret_cast<Task const*>(slot.functor.bytes);
}

}  // namespace lull
