// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/report/report.hpp>
#include <lull/host/executor.hpp>

namespace lull {

/// What several commands ask for. Errors: usage_error, with the known names for an unknown one.

/// Empty: cuda if a device answers, else threads. A kind that cannot be had is refused with the reason.
executor_kind parse_executor(std::string_view text, int device);
side_mode parse_mode(std::string_view text);
std::chrono::nanoseconds duration_of(std::string_view text, std::string_view option);
/// Of a percentage, from 0.001% to 100%.
double share_of(std::string_view text, std::string_view option);

/// `--at-most`: how long a command's tasks may take. One thread.
class time_limit {
 public:
  /// A duration as it was spelled; empty: without limit.
  explicit time_limit(std::string asked);
  /// It counts from here. Once.
  void begin() { begun_ = std::chrono::steady_clock::now(); }
  bool over() const { return begun_ && std::chrono::steady_clock::now() - *begun_ >= longest_; }
  /// The end of a line on what was not done: "--at-most 5s was over first".
  std::string was_over() const { return "--at-most " + asked_ + " was over first"; }

 private:
  std::string asked_;
  std::chrono::nanoseconds longest_;
  std::optional<std::chrono::steady_clock::time_point> begun_;
};

std::string_view name_of(side_mode mode) noexcept;
std::string_view name_of(executor_kind kind) noexcept;

/// Version, machine, whose times these are, and what `run` and `harvest` are both asked for.
report begin_report(std::string_view command, executor_kind kind, side_mode mode, run_settings const& asked);

/// After the report is shown: says what became of the tasks and what it all came to, beside a table, or on standard
/// error where there was JSON and something failed. Then writes the report's file, if one is asked for: one that cannot
/// be written shall not take along what goes to the screen.
exit_code conclude(std::ostream& out, run_settings const& asked, report const& found,
                   std::vector<std::string> const& lines, bool good);

}  // namespace lull
