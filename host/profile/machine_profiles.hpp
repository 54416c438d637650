// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <lull/host/runtime.hpp>
#include <lull/host/step_report.hpp>

namespace lull {

/// What `lull profile` found for one side task. What was not measured has no value.
struct work_profile {
  /// In a stage of a pipeline whose longest bubble had this length.
  struct in_bubbles {
    std::chrono::nanoseconds longest{0};
    /// Share of the bubbles' time: work done, as the time that the task needs for it alone on all SMs.
    std::optional<double> harvest{};
    std::optional<slowdown_interval> slowdown{};  // of the stage's iterations
  };

  std::string task;   // its name
  std::string label;  // the name, with the options that distinguish it from others of the file
  std::optional<std::uint64_t> machine_bytes{};  // memory that it took, or the most that it says it needs
  std::optional<double> items_per_s{};           // alone, on all SMs
  std::optional<double> jobs_per_s{};            // alone, of whole jobs
  std::vector<in_bubbles> lengths{};             // ascending; at least one
};

/// The profiles of one machine.
struct machine_profiles {
  std::string version;   // of Lull
  std::string executor;  // cuda, threads
  std::string gpu;       // empty: none, or its driver gives no name
  std::vector<work_profile> works;
};

/// Reads what `lull profile --out` wrote. Throws input_error, or limit_error for a file of more than 4 MB.
machine_profiles read_profiles(std::string const& path);

/// Returns the assumed slowdown of a step, the largest over all lengths. It is the upper end of the interval. If that
/// exceeds twice the estimate and 2 %, it is noise, and the lower end is used. Nothing if noise hides all.
std::optional<double> slowdown_to_assume(work_profile const& of);

/// Passes the slowdowns to the runtime (`runtime::assume_slowdown`); of several profiles of a name the largest. Returns
/// why some were not passed: they are of another machine or version, "…; profile the tasks here", or of more names than
/// a runtime takes. Empty: all were.
std::string assume_slowdown(runtime& side, machine_profiles const& known);

}  // namespace lull
