// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lull/apps/lull/machine.hpp>
#include <lull/apps/lull/statistics.hpp>
#include <lull/host/step_report.hpp>
#include <lull/host/task/owner.hpp>

namespace lull {

/// Why bubble time was not harvested. Their times sum up to what was lost; docs/5-measuring.md says how each is found.
enum class lost_cause {
  start,            // open until all blocks work
  drain,            // the bubble was over, the block not yet out
  host_late,        // the host enqueued the worker when the bubble was over
  too_short,        // the site's bubbles are shorter than they cost
  no_job,           // no job stood ready, or the last one that did had ended
  starved,          // the task had no input
  phase_wait,       // a phase was exhausted and its last chunks not yet committed, or blocks rested before the close
  lease,            // the worker's time was over, the bubble not
  reserved_groups,  // SMs that were kept off
  grain,     // what had been done of chunks that were handed back and started again, or a site where all of them are
  held,      // control kept blocks out
  withheld,  // iterations without side work, so that a bound on slowdown is kept
  slower     // the rest: working, but below stand-alone speed; below zero: above it
};
constexpr std::size_t lost_causes = 13;

std::string_view name_of(lost_cause cause) noexcept;

struct task_setting {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;  // as they were spelled, defaults included
  std::string library{};                                     // path of the task's shared library; empty: linked in
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

struct job_result {
  std::string name;
  std::string state;
  std::optional<std::uint64_t> phases;
  std::optional<std::uint64_t> chunks;
  std::optional<std::uint64_t> items;
  std::optional<bool> verified;           // nothing: was not verified
  std::optional<std::uint64_t> failures;  // inputs that could not be used; nothing: the job did not finish
  std::vector<task_figure> figures = {};  // of the result of a job that finished
};

/// What `lull harvest` and `lull run` found. What was not measured is nothing here and null in JSON, never 0.
/// Drain and start are in µs.
struct report {
  static constexpr std::string_view schema = "lull.report/1";

  struct bubble_counts {
    std::optional<std::uint64_t> count;
    std::optional<std::uint64_t> harvested;
    std::optional<std::uint64_t> skipped;
    std::optional<double> total_ms;
  };
  struct harvest_gain {
    std::optional<double> ratio;                     // against the task alone on all SMs
    std::optional<double> ratio_excluding_reserved;  // against the task alone with the same reserved groups kept off
    std::optional<double> solo_items_per_s;    // of the tasks alone, one after another in the shares of the harvest
    std::optional<double> solo_jobs_per_s;     // of the only task, whole jobs
    std::optional<std::uint64_t> taken_bytes;  // at most, of the machine's memory, by a job of each task
    // Of the SMs: alone, by the driver; in bubbles with side work, by the device's own counters. At the power limit a
    // training GPU runs slower than one that does side work alone, and so does the side work in its bubbles.
    std::optional<double> solo_sm_mhz;
    std::optional<double> bubbles_sm_mhz;
    std::array<std::optional<double>, lost_causes> lost_us;

    std::optional<double>& lost(lost_cause cause) { return lost_us[static_cast<std::size_t>(cause)]; }
    std::optional<double> const& lost(lost_cause cause) const { return lost_us[static_cast<std::size_t>(cause)]; }
  };

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
  step_report steps;                 // with --max-slowdown: iterations of the replays with side work
  harvest_gain harvest;
  std::vector<job_result> jobs;
  run_figures run;  // of lull run
};

/// JSON of schema "lull.report/1", indented, with a line end. Figures that are not finite are written as null, and
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
