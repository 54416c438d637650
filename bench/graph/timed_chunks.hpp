// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/side_task.hpp>
#include <lull/device/world.hpp>

namespace lull::bench {

/// How long chunks of one kind took, counted by length.
struct chunk_lengths {
  static constexpr std::uint64_t width_ns = 32;  // of a bucket: the step of an H200's clock
  static constexpr std::uint32_t buckets = 1U << 15;

  std::uint64_t sum_ns;
  std::uint64_t max_ns;
  std::uint64_t count[buckets];  // the last has all that are longer
};

/// Of all chunks of some runs. In memory of the machine; zero at the start.
struct chunk_times {
  static constexpr std::uint32_t kinds = 12;

  std::uint64_t max_advance_ns;
  chunk_lengths of[kinds];
};

/// What the chunks of a phase do: a number of the task's own enumeration of phases; 0 where it has none.
template <class Task>
LULL_HD std::uint32_t kind_of_phase(Task const& task) noexcept {
  if constexpr (requires { task.on.progress->phase; }) {
    return static_cast<std::uint32_t>(task.on.progress->phase);
  } else if constexpr (requires { task.progress->flattening; }) {
    return 2 * static_cast<std::uint32_t>(task.progress->pass) + task.progress->flattening;
  } else {
    return 0;
  }
}

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
    chunk_lengths& lengths = times->of[kind_of_phase(task)];
    std::uint64_t const begin = team.rank() == 0 ? world::now_ns() : 0;
    task(c, team);
    team.sync();
    if (team.rank() != 0) return;
    std::uint64_t const took = world::now_ns() - begin;
    std::uint64_t const bucket = took / chunk_lengths::width_ns;
    std::uint64_t& count = lengths.count[bucket < chunk_lengths::buckets ? bucket : chunk_lengths::buckets - 1];
    // relaxed: the host reads them when the run is over
    world::template fetch_add<order::relaxed, scope::device>(count, std::uint64_t{1});
    world::template fetch_add<order::relaxed, scope::device>(lengths.sum_ns, took);
    world::template fetch_max<order::relaxed, scope::device>(lengths.max_ns, took);
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
