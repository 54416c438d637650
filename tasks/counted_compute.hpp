// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/tasks/synthetic.hpp>

namespace lull {

/// A compute_task whose run can be verified: each item stores the number of rounds it has completed. One store an item
/// and no load, so that it stays compute-bound.
struct counted_compute_task {
  static constexpr team_shape shape = compute_task::shape;

  compute_task work;
  std::uint64_t* completed;  // (items,) rounds

  LULL_HD std::uint64_t extent(position at, std::uint64_t fed) const noexcept { return work.extent(at, fed); }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    work(c, team);
    for (std::uint64_t item = c.begin + static_cast<std::uint64_t>(team.rank()); item < c.end;
         item += static_cast<std::uint64_t>(team.size())) {
      completed[item] = c.at.round + 1;
    }
  }
};

static_assert(is_side_task<counted_compute_task>());

}  // namespace lull
