// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/cursor.hpp>
#include <lull/device/directive.hpp>
#include <lull/device/lease.hpp>
#include <lull/device/position.hpp>

namespace lull {

/// What a yield point goes by, read as a whole: where to look, and the phase that the block knows.
template <class World>
struct alignas(16) bearings {
  lull::cursor* cursor = nullptr;
  std::uint64_t first = 0;     // tagged: item 0 of the phase that is known
  std::uint64_t extent = 0;    // of that phase; 0: none is known
  std::uint64_t near_end = 0;  // with fewer items left, chunks are committed at once: small phases live on that
  exit_check<World> stays;
  std::uint64_t grain = 0;

  LULL_HD std::uint32_t tag() const noexcept { return tagged{first}.tag(); }
  /// The phase of this tag is the one that is known.
  LULL_HD bool knows(std::uint32_t of) const noexcept { return extent != 0 && tag() == of; }
  LULL_HD void know(tagged limit, std::uint64_t blocks) noexcept {
    first = tagged{limit.tag(), 0}.word();
    extent = limit.item();
    near_end = (2 * blocks + 1) * grain;
  }

  /// What a claim from `begin` on has, that added so many items: up to the end of the phase.
  LULL_HD directive piece(std::uint64_t begin, std::uint64_t added) const noexcept {
    std::uint64_t const left = extent - begin;
    return {begin, static_cast<std::uint32_t>(added < left ? added : left),
            left < near_end ? action::finish : action::run};
  }
};

}  // namespace lull
