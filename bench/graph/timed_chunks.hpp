// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/side_task.hpp>
#include <lull/device/world.hpp>

namespace lull::bench {

/// How long chunks took, counted by length. In memory of the machine; zero at the start.
struct chunk_times {
  static constexpr std::uint64_t width_ns = 32;  // of a bucket: the step of an H200's clock
  static constexpr std::uint32_t buckets = 1U << 15;

  std::uint64_t max_ns;
  std::uint64_t max_advance_ns;
  std::uint64_t count[buckets];  // the last has all that are longer
};

/// A side task whose chunks are timed by rank 0, from the call to where the whole team has returned: a barrier and two
/// looks at the clock more than the task alone. Same shape, same results.
template <side_task Task>
struct timed_chunks {
  static constexpr team_shape shape = Task::shape;

  Task task;
  chunk_times* times;

  LULL_HD std::uint64_t extent(position at, std::uint64_t fed) const noexcept { return task.extent(at, fed); }

  template <class Team>
  LULL_HD void operator()(chunk c, Team const& team) const noexcept {
    using world = typename Team::world;
    std::uint64_t const begin = team.rank() == 0 ? world::now_ns() : 0;
    task(c, team);
    team.sync();
    if (team.rank() != 0) return;
    std::uint64_t const took = world::now_ns() - begin;
    std::uint64_t const bucket = took / chunk_times::width_ns;
    std::uint64_t& count = times->count[bucket < chunk_times::buckets ? bucket : chunk_times::buckets - 1];
    // relaxed: the host reads them when the run is over
    world::template fetch_add<order::relaxed, scope::device>(count, std::uint64_t{1});
    world::template fetch_max<order::relaxed, scope::device>(times->max_ns, took);
  }

  template <class Team>
  LULL_HD void advance(position ended, Team const& team) const noexcept
    requires has_advance<Task>
  {
    using world = typename Team::world;
    std::uint64_t const begin = team.rank() == 0 ? world::now_ns() : 0;
    task.advance(ended, team);
    team.sync();
    if (team.rank() != 0) return;
    world::template fetch_max<order::relaxed, scope::device>(times->max_advance_ns, world::now_ns() - begin);
  }
};

}  // namespace lull::bench
