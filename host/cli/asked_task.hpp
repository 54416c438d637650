// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <lull/host/cli/report.hpp>
#include <lull/host/task_request.hpp>

namespace lull {

/// The one task that was asked for on the command line (`text`), in a job file (`file`), or by default.
/// Errors: usage_error or input_error.
task_request request_of(std::optional<std::string> const& text, std::optional<std::string> const& file);

/// The request with its defaults, for a report.
task_setting setting_of(task_request const& request);

}  // namespace lull
