// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lull/host/cli/report.hpp>
#include <lull/host/owner.hpp>
#include <lull/host/task_request.hpp>

namespace lull {

/// The side tasks that the command line knows, the default one first. Lives as long as the program.
std::span<task_entry const> catalogue();

/// The same as parsers take it.
std::span<task_options const> known_tasks();

/// The one task that was asked for on the command line (`text`), in a job file (`file`), or by default.
/// Errors: usage_error or input_error.
task_request request_of(std::optional<std::string> const& text, std::optional<std::string> const& file);

task_entry const& entry_of(task_request const& request);

/// The request with its defaults, for a report.
task_setting setting_of(task_request const& request);

}  // namespace lull
