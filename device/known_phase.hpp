// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/cursor.hpp>
#include <lull/device/directive.hpp>
#include <lull/device/lease.hpp>
#include <lull/device/position.hpp>

namespace lull {

/// What a block knows of its phase, and where a yield point looks. One read fetches all of it.
template <class World>
struct alignas(16) known_phase {
  lull::cursor* cursor = nullptr;
  std::uint64_t first = 0;   // tagged: item 0 of the known phase
  std::uint64_t extent = 0;  // of the known phase; 0: no phase is known
  // with fewer items left, chunks are committed at once; small phases would otherwise end late
  std::uint64_t near_end = 0;
  exit_check<World> stays;
  std::uint64_t grain = 0;

  LULL_HD std::uint32_t tag() const noexcept { return tagged{first}.tag(); }
  /// Returns whether the phase of this tag is the known one.
  LULL_HD bool knows(std::uint32_t of) const noexcept { return extent != 0 && tag() == of; }
  LULL_HD void know(tagged limit, std::uint64_t blocks) noexcept {
    first = tagged{limit.tag(), 0}.word();
    extent = limit.item();
    near_end = (2 * blocks + 1) * grain;
  }

  /// Returns the chunk of a claim that began at `begin` and added `added` items; it ends with the phase at the latest.
  LULL_HD directive piece(std::uint64_t begin, std::uint64_t added) const noexcept {
    std::uint64_t const left = extent - begin;
    return {begin, static_cast<std::uint32_t>(added < left ? added : left),
            left < near_end ? action::finish : action::run};
  }
};

}  // namespace lull
