// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace lull {

/// Calls `turn` with the number of each of `count` treatments: in order in even rounds, and the other way round in odd
/// ones. What drifts over minutes then hits all of them alike.
template <class Turn>
void take_turns(std::size_t count, std::uint64_t round, Turn&& turn) {
  for (std::size_t i = 0; i < count; ++i) turn(round % 2 == 0 ? i : count - 1 - i);
}

}  // namespace lull
