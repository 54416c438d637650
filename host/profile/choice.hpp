// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <lull/host/profile/machine_profiles.hpp>
#include <lull/host/report/bubble_summary.hpp>

namespace lull {

/// A trainer's idle time, as a bubble report has it.
struct idle_time {
  struct site {
    std::chrono::nanoseconds typical{0};  // the p50
    double share = 0;                     // of the trainer's time
  };
  std::vector<site> sites;                        // of all gates
  std::optional<std::uint64_t> min_free_bytes{};  // of device memory; nothing: not known
};

idle_time idle_time_of(bubble_summary const& seen);
/// Reads a bubble report, JSON, preferably of mode `observe`: otherwise the memory of side work counts as taken. Throws
/// input_error, or limit_error for a file of more than 4 MB.
idle_time read_idle_time(std::string const& path);

struct choice_limits {
  std::uint64_t reserve_bytes = 0;  // device memory that stays free for the trainer
  double max_slowdown = 0;          // as in runtime_options; 0: no bound
};

/// What a task would bring in a trainer's idle time.
struct prospect {
  std::size_t work = 0;                 // index in machine_profiles::works
  bool fits = true;                     // in the device memory that is free at every site, if both are known
  std::optional<double> slowdown{};     // supposed_slowdown
  double harvest = 0;                   // of the idle time, as the time that the task needs alone on all SMs
  std::optional<double> items_per_s{};  // in the trainer's time
  std::optional<double> jobs_per_s{};
};

/// Returns the best first, and those that do not fit last: by jobs a second if that is known of all; otherwise by
/// items, which must mean the same for all. Throws usage_error if neither is known of all, or the items are of
/// different tasks.
///
/// A bubble's harvest is interpolated from the profile's bubbles, linearly in the logarithm of length. A shorter bubble
/// than any profiled loses as much time as the shortest; a longer one has the share of the longest. Under a bound, side
/// work runs in the share of steps that the profiled slowdown allows. Without a profiled slowdown it runs in all, so
/// check `slowdown`. Where bubbles of several gates overlap, the real harvest is smaller.
std::vector<prospect> prospects_of(machine_profiles const& known, idle_time const& idle,
                                   choice_limits const& within = {});

}  // namespace lull
