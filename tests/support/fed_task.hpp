// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/side_task.hpp>

namespace lull {

/// Rounds of one item each, of which there is one for each unit that was fed.
struct fed_task {
  static constexpr team_shape shape{.threads = 32};

  std::uint64_t* asked;  // (1,)
  std::uint64_t* runs;   // (1,)

  std::uint64_t extent(position at, std::uint64_t fed) const noexcept {
    *asked += 1;  // by one block at a time, each after the one before
    return at.round < fed ? 1 : starved;
  }
  void operator()(chunk, auto const&) const noexcept { *runs += 1; }
};
static_assert(side_task<fed_task>);

}  // namespace lull
