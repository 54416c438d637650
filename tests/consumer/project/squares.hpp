// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/side_task.hpp>

/// Writes i² into element i, `items` at a time, and ends after one phase.
struct squares {
  static constexpr lull::team_shape shape{.threads = 128};
  std::uint64_t* out;  // (items,)
  std::uint64_t items;

  LULL_HD std::uint64_t extent(lull::position at, std::uint64_t) const noexcept {
    return at.round == 0 ? items : lull::finished;
  }

  LULL_HD void operator()(lull::chunk c, auto const& team) const noexcept {
    for (std::uint64_t i = c.begin + team.rank(); i < c.end; i += team.size()) out[i] = i * i;
  }
};

static_assert(lull::is_side_task<squares>());
