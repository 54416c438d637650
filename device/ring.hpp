// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/position.hpp>
#include <lull/device/world.hpp>

namespace lull {

/// One place of the ring. `turn` is 2 × lap while free and 2 × lap + 1 while it holds an entry, so that a zeroed ring is empty.
struct ring_cell {
  std::uint64_t turn;
  std::uint64_t tag_and_begin;  // tagged
  std::uint64_t count;
  std::uint64_t unused;
};

/// The two ends of the ring. They only grow.
struct alignas(128) ring_ends {
  std::uint64_t pushed;
  std::uint64_t popped;
};

/// A handed-back chunk and the tag of its phase. `count` 0: none.
struct handed_back {
  tagged at;
  std::uint64_t count = 0;
};

/// The handed-back chunks of one cursor: a bounded queue for many pushers and poppers, after D. Vyukov's bounded MPMC
/// queue (1024cores.net). Neither end waits for the other: a full ring refuses, and a ring whose oldest entry is still
/// being written looks empty.
template <class World>
class ring_ref {
 public:
  /// `capacity` is a power of two.
  LULL_HD ring_ref(ring_ends* ends, ring_cell* cells, std::uint64_t capacity) noexcept
      : ends_(ends), cells_(cells), capacity_(capacity) {}

  /// A cheap look, for the yield point: false means that nothing was there.
  LULL_HD bool perhaps() const noexcept {
    return World::template load<order::relaxed, scope::device>(ends_->pushed) !=
           World::template load<order::relaxed, scope::device>(ends_->popped);
  }

  /// False when full: the caller keeps the chunk. Publishes what the caller has seen so far.
  LULL_HD bool push(handed_back entry) noexcept {
    std::uint64_t at = World::template load<order::relaxed, scope::device>(ends_->pushed);
    for (;;) {
      ring_cell& cell = cells_[at & (capacity_ - 1)];
      std::uint64_t const free = lap(at) * 2;
      // acquire: the popper of the lap before is done reading the cell
      std::uint64_t const turn = World::template load<order::acquire, scope::device>(cell.turn);
      if (turn == free) {
        if (World::template compare_exchange<order::relaxed, scope::device>(ends_->pushed, at, at + 1)) {
          World::template store<order::relaxed, scope::device>(cell.tag_and_begin, entry.at.word());
          World::template store<order::relaxed, scope::device>(cell.count, entry.count);
          // release: publishes the entry, and through the pusher's own acquires the phase that it belongs to
          World::template store<order::release, scope::device>(cell.turn, free + 1);
          return true;
        }
      } else if (turn < free) {
        return false;  // the cell still holds an entry of the lap before
      }
      at = World::template load<order::relaxed, scope::device>(ends_->pushed);
    }
  }

  /// `count` 0 when nothing is there.
  LULL_HD handed_back pop() noexcept {
    std::uint64_t at = World::template load<order::relaxed, scope::device>(ends_->popped);
    for (;;) {
      ring_cell& cell = cells_[at & (capacity_ - 1)];
      std::uint64_t const full = lap(at) * 2 + 1;
      // acquire: the entry, and all that its pusher knew of the phase
      std::uint64_t const turn = World::template load<order::acquire, scope::device>(cell.turn);
      if (turn == full) {
        if (World::template compare_exchange<order::relaxed, scope::device>(ends_->popped, at, at + 1)) {
          handed_back const entry{tagged{World::template load<order::relaxed, scope::device>(cell.tag_and_begin)},
                                  World::template load<order::relaxed, scope::device>(cell.count)};
          // release: the cell may be written again
          World::template store<order::release, scope::device>(cell.turn, full + 1);
          return entry;
        }
      } else if (turn < full) {
        return {};
      }
      at = World::template load<order::relaxed, scope::device>(ends_->popped);
    }
  }

 private:
  /// at / capacity, without the division that a GPU does in software.
  LULL_HD std::uint64_t lap(std::uint64_t at) const noexcept {
    int bits = 0;
    while (capacity_ >> bits > 1) ++bits;
    return at >> bits;
  }

  ring_ends* ends_;
  ring_cell* cells_;
  std::uint64_t capacity_;
};

}  // namespace lull
