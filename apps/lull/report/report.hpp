// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lull/apps/lull/report/machine.hpp>
#include <lull/host/measure/account.hpp>
#include <lull/host/measure/job_result.hpp>
#include <lull/host/measure/statistics.hpp>
#include <lull/host/step_report.hpp>

namespace lull {

struct task_setting {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;  // as they were spelled, defaults included
  std::string shared_library{};                              // path of the task's; empty: linked in
};

/// What was asked for. A field that the command does not have is nothing.
struct report_config {
  std::optional<std::string> mode;      // lull, naive, none
  std::optional<std::string> schedule;  // as --schedule spells it
  std::optional<std::uint32_t> stages;
  std::optional<std::uint32_t> microbatches;
  std::optional<std::uint32_t> stage;
  std::optional<double> segment_ms;  // of a forward
  std::optional<double> min_bubble_us;
  std::optional<double> rest_before_close_us;
  std::optional<std::uint32_t> iterations;
  std::optional<std::uint32_t> pairs;
  std::optional<std::uint32_t> reserved_groups;
  bool verify = false;
  std::vector<task_setting> tasks;
};

/// What `lull harvest` and `lull run` found. What was not measured is nothing here and null in JSON, never 0.
/// Drain and start are in µs.
struct report {
  static constexpr std::string_view schema = "lull.report/2";

  struct run_figures {
    std::optional<double> seconds;      // of all tasks, without the bubbles in which they only starved
    std::optional<double> items_per_s;  // of the only task: items of different tasks do not add up
  };

  std::string version;
  std::string command;   // harvest, run
  std::string executor;  // cuda, threads
  std::string time;      // whose times these are: "device", or "cpu" where threads stand for a GPU
  bool interrupted = false;
  machine_description machine;
  report_config config;
  bubble_counts bubbles;
  distribution drain_us;
  distribution start_us;
  std::optional<slowdown> training;  // of completed pairs of replays, in ms
  /// The share of looks at replays at which the host had enqueued less than a bubble in advance. Training then waits
  /// for the host, and the time of the host's calls counts as slowdown.
  std::optional<double> host_behind;
  step_report steps;  // iterations of the replays with side work, where they are marked
  harvest_gain harvest;
  std::vector<job_result> jobs;
  run_figures run;  // of lull run
};

/// JSON of schema "lull.report/2", indented, with a line end. Figures that are not finite are written as null, and
/// bytes that are not UTF-8 (in a path) as U+FFFD.
std::string to_json(report const& result);

/// Atomically. Errors: as atomic_file.
void write_report(std::filesystem::path const& path, report const& result);

/// What was gained, what it cost and where the rest was lost; lines of at most 80 columns.
void print_report(std::ostream& out, report const& result);

/// Returns in one line what ran, what it came to, and how certain its cost is: the title of a trace.
std::string headline(report const& result);

/// Returns what a harvest came to in one sentence, or nothing where neither gain nor cost was measured.
std::string closing_sentence(report const& result);

}  // namespace lull
