// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/side_task.hpp>

namespace side_tasks {

/// The dot product of two vectors. Step 0: each item sums up one tile of both. Step 1: one item adds the tiles' sums.
/// No two items write the same place and each sum has one order, so that a preempted run ends with the same bits.
struct my_task {
  static constexpr lull::team_shape shape{.threads = 256, .steps = 2};
  static constexpr std::uint64_t tile = 4096;  // values in an item: bounds what a chunk costs

  float const* a;  // (values,)
  float const* b;  // (values,)
  double* sums;    // (tiles + 1,) the tiles' sums, then the result
  std::uint64_t values;

  LULL_HD std::uint64_t tiles() const noexcept { return (values + tile - 1) / tile; }

  LULL_HD std::uint64_t extent(lull::position at, std::uint64_t /*fed*/) const noexcept {
    if (at.round > 0) return lull::finished;
    return at.step == 0 ? tiles() : 1;
  }

  LULL_HD void operator()(lull::chunk c, auto const& team) const noexcept {
    bool const first = c.at.step == 0;
    for (std::uint64_t item = c.begin; item < c.end; ++item) {
      std::uint64_t const whole = first ? (item + 1) * tile : tiles();
      std::uint64_t const end = first && whole > values ? values : whole;
      double mine = 0;
      for (std::uint64_t i = item * tile + team.rank(); i < end; i += team.size()) {
        mine += first ? double{a[i]} * double{b[i]} : sums[i];
      }
      double const sum = team.sum(mine);  // all threads call it, or none
      if (team.rank() == 0) sums[first ? item : tiles()] = sum;
    }
  }
};

static_assert(lull::is_side_task<my_task>());

}  // namespace side_tasks
