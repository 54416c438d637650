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
/// Reads a bubble report, JSON. Best of mode `observe`: otherwise the memory of side work counts as taken. Throws
/// input_error, or limit_error for a file of more than 4 MB.
idle_time read_idle_time(std::string const& path);

struct choice_limits {
  std::uint64_t reserve_bytes = 0;  // of the device's memory, that stay the trainer's
  double max_slowdown = 0;          // as of runtime_options; 0: no bound
};

/// What a task would bring in a trainer's idle time.
struct prospect {
  std::size_t work = 0;                 // index in machine_profiles::works
  bool fits = true;                     // in the device memory that is free at every site, as far as both are known
  std::optional<double> slowdown{};     // supposed_slowdown
  double harvest = 0;                   // of the idle time, as time that the task needs alone on all SMs
  std::optional<double> items_per_s{};  // in the trainer's time
  std::optional<double> jobs_per_s{};
};

/// The best first, those that do not fit last: by jobs a second where that is known of all; else by items, which must
/// mean the same in all of them. Throws usage_error where neither is known of all, or items are those of unlike tasks.
///
/// A bubble's harvest is that of the profile's bubbles of the same length, by a line between the two nearest in the
/// logarithm of length. In shorter ones than were profiled, as much time is lost as in the shortest; in longer ones the
/// share is that of the longest. Under a bound, side work runs in that share of steps which the slowdown allows that
/// the profile told; in all where it told none, so look at `slowdown`. Where bubbles of several gates overlap, less can
/// be done.
std::vector<prospect> prospects_of(machine_profiles const& known, idle_time const& idle,
                                   choice_limits const& within = {});

}  // namespace lull
