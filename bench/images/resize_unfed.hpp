// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/tasks/images/resize.hpp>

namespace lull::bench {

/// Batches that stand from the start, one in each buffer, resized in turn: nobody feeds it.
struct resize_unfed {
  static constexpr team_shape shape = resize_pictures::shape;

  resize_pictures work;
  std::uint64_t rounds;  // batches; more than there are buffers: they are resized again

  LULL_HD std::uint64_t extent(position at, std::uint64_t) const noexcept {
    return work.extent(at, rounds | no_more_batches);
  }
  LULL_HD void operator()(chunk c, auto const& team) const noexcept { work(c, team); }
};

static_assert(side_task<resize_unfed>);

}  // namespace lull::bench
