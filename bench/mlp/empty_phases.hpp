// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/side_task.hpp>
#include <lull/tasks/product/matrix.hpp>

namespace lull {

/// Phases in which nothing is done, by teams like those of the perceptron: what a change of phase costs.
struct empty_phases {
  static constexpr team_shape shape{
      .threads = product_threads, .steps = 1, .shared_bytes = product_storage_bytes, .blocks_per_sm = 2};

  std::uint64_t phases;
  std::uint64_t items;  // a phase

  LULL_HD std::uint64_t extent(position at, std::uint64_t) const noexcept {
    return at.round < phases ? items : finished;
  }
  LULL_HD void operator()(chunk, auto const&) const noexcept {}
};

static_assert(side_task<empty_phases>);

}  // namespace lull
