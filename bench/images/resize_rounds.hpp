// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/tasks/images/resize.hpp>

namespace lull::bench {

/// One batch, resized again and again: nobody feeds it.
struct resize_rounds {
  static constexpr team_shape shape = resize_pictures::shape;

  resize_pictures work;  // with one buffer
  std::uint64_t rounds;

  LULL_HD std::uint64_t extent(position at, std::uint64_t) const noexcept { return work.extent(at, rounds | no_more_batches); }
  LULL_HD void operator()(chunk c, auto const& team) const noexcept { work(c, team); }
};

static_assert(side_task<resize_rounds>);

}  // namespace lull::bench
