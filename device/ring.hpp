// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <lull/device/position.hpp>
#include <lull/device/world.hpp>

namespace lull {

/// 64 places of the ring, all free when zeroed. A place is taken, then written, then full; the block that empties it
/// frees it after reading.
struct alignas(128) ring_group {
  static constexpr std::uint64_t places = 64;
  struct cell {
    std::uint64_t tag_and_begin;  // tagged
    std::uint64_t count;
  };

  std::uint64_t taken;  // a bit for each place
  std::uint64_t full;
  alignas(128) cell cells[places];
};

/// Returns the number of groups that hold this many places.
LULL_HD constexpr std::uint64_t ring_groups(std::uint64_t places) noexcept {
  return (places + ring_group::places - 1) / ring_group::places;
}

/// How many entries were ever pushed and popped; these only grow.
struct alignas(128) ring_counts {
  std::uint64_t pushed;
  std::uint64_t popped;
};

/// A handed-back chunk and the tag of its phase. `count` 0: none.
struct handed_back {
  tagged at;
  std::uint64_t count = 0;
};

/// The handed-back chunks of one cursor, in no order. They lie in places of a ring that each block searches from its
/// own starting place. When a bubble closes a hundred blocks push at once, and when the next opens they pop. Each finds
/// its own place, and no two wait for one word (docs/decisions/places-of-the-ring.md). Neither end waits for the other:
/// a full ring refuses, and an entry that is still being written is not found.
template <class World>
class ring_ref {
 public:
  /// `capacity`: places in use, of all groups. `home`: where to search first.
  LULL_HD ring_ref(ring_counts* counts, ring_group* groups, std::uint64_t capacity, std::uint64_t home) noexcept
      : counts_(counts), groups_(groups), capacity_(capacity), home_(home < capacity ? home : 0) {}

  /// A cheap look for the yield point. A later look finds what it misses.
  LULL_HD bool perhaps() const noexcept {
    return World::template load<order::relaxed, scope::device>(counts_->pushed) !=
           World::template load<order::relaxed, scope::device>(counts_->popped);
  }

  /// Returns false if the ring is full: the caller keeps the chunk. Publishes what the caller has seen so far.
  LULL_HD bool push(handed_back entry) noexcept {
    // acquire: the popper before has finished reading the place
    ring_group::cell* const cell = find([](ring_group& group, std::uint64_t bit, std::uint64_t& candidates) {
      std::uint64_t const before = World::template fetch_or<order::acquire, scope::device>(group.taken, bit);
      candidates &= ~before;
      return (before & bit) == 0;
    });
    if (cell == nullptr) return false;
    World::template store<order::relaxed, scope::device>(cell->tag_and_begin, entry.at.word());
    World::template store<order::relaxed, scope::device>(cell->count, entry.count);
    // release: publishes the entry, and through the pusher's own acquires the phase that it belongs to
    World::template fetch_or<order::release, scope::device>(group_->full, bit_);
    World::template fetch_add<order::relaxed, scope::device>(counts_->pushed, std::uint64_t{1});
    return true;
  }

  /// Returns an entry, with `count` 0 if none is there.
  LULL_HD handed_back pop() noexcept {
    // acquire: the entry, and all that its pusher knew of the phase
    ring_group::cell* const cell = find([](ring_group& group, std::uint64_t bit, std::uint64_t& candidates) {
      std::uint64_t const before = World::template fetch_and<order::acquire, scope::device>(group.full, ~bit);
      candidates &= before & ~bit;
      return (before & bit) != 0;
    });
    if (cell == nullptr) return {};
    handed_back const entry{tagged{World::template load<order::relaxed, scope::device>(cell->tag_and_begin)},
                            World::template load<order::relaxed, scope::device>(cell->count)};
    // release: the place may be written again
    World::template fetch_and<order::release, scope::device>(group_->taken, ~bit_);
    World::template fetch_add<order::relaxed, scope::device>(counts_->popped, std::uint64_t{1});
    return entry;
  }

 private:
  /// Returns the first place from home on for which `take` returns true; null: none. `take(group, bit, candidates)`
  /// leaves in `candidates` the places of the group that are still worth trying.
  template <class Take>
  LULL_HD ring_group::cell* find(Take const& take) noexcept {
    constexpr std::uint64_t places = ring_group::places;
    std::uint64_t const groups = ring_groups(capacity_);
    std::uint64_t at = home_ / places;
    std::uint64_t const first = home_ % places;
    for (std::uint64_t n = 0; n < groups; ++n, at = at + 1 < groups ? at + 1 : 0) {
      ring_group& group = groups_[at];
      std::uint64_t const here = capacity_ - at * places;
      std::uint64_t candidates = here < places ? (std::uint64_t{1} << here) - 1 : ~std::uint64_t{0};
      for (std::uint64_t i = 0; i < places && candidates != 0; ++i) {
        std::uint64_t const place = (first + i) % places;
        std::uint64_t const bit = std::uint64_t{1} << place;
        if ((candidates & bit) == 0 || !take(group, bit, candidates)) continue;
        group_ = &group;
        bit_ = bit;
        return &group.cells[place];
      }
    }
    return nullptr;
  }

  ring_counts* counts_;
  ring_group* groups_;
  std::uint64_t capacity_;
  std::uint64_t home_;
  ring_group* group_ = nullptr;  // of the place that was found
  std::uint64_t bit_ = 0;
};

}  // namespace lull
