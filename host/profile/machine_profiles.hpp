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

/// What `lull profile` found of one side task. What was not measured is nothing.
struct work_profile {
  /// In a stage of a pipeline whose longest bubble was so long.
  struct in_bubbles {
    std::chrono::nanoseconds longest{0};
    /// Work done, as time that the task needs for it alone on all SMs, of the bubbles' time.
    std::optional<double> harvest{};
    std::optional<slowdown_interval> slowdown{};  // of the stage's iterations
  };

  std::string task;                              // its name
  std::string label;                             // the same, with the options that tell it from others of the file
  std::optional<std::uint64_t> machine_bytes{};  // memory that it took, or says it needs at most
  std::optional<double> items_per_s{};           // alone, on all SMs
  std::optional<double> jobs_per_s{};            // the same, of whole jobs
  std::vector<in_bubbles> lengths{};             // ascending; one at least
};

/// What was found on one machine.
struct machine_profiles {
  std::string version;   // of Lull
  std::string executor;  // cuda, threads
  std::string gpu;       // empty: none, or its driver did not tell
  std::vector<work_profile> works;
};

/// Reads what `lull profile --out` wrote. Throws input_error, or limit_error for a file of more than 4 MB.
machine_profiles read_profiles(std::string const& path);

/// How much longer it makes a step: the upper end of the interval, or the lower end where the upper one is beyond twice
/// the estimate and beyond 2 %, and so is noise; of all lengths the most. Nothing where noise hides all.
std::optional<double> slowdown_to_assume(work_profile const& of);

/// Tells the runtime (`runtime::assume_slowdown`), of several profiles of a name the hungriest. Returns why not, or not
/// all: where they are of another machine or version, "…; profile the tasks here", or of more names than a runtime
/// takes. Empty: told.
std::string assume_slowdown(runtime& side, machine_profiles const& known);

}  // namespace lull
