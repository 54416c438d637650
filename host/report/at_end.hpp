// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <lull/host/report/bubble_summary.hpp>

namespace lull {

/// Where the bubble report goes when a runtime ends: to the file that the environment variable LULL_REPORT names, else
/// to `asked`. In its name %p stands for the process and %d for the device, so that the ranks of a training do not
/// write over each other. Empty: to no file. Errors: usage_error for an ending that no form of the report has, or a
/// folder that is not there: at the start, not when hours of training are over.
std::string report_path(std::string const& asked, int device);

/// Writes the report; with no path, gives it to `log` as text, a line a call. What goes wrong is logged.
void hand_over(bubble_summary const& sum, std::string const& path,
               std::function<void(std::string_view)> const& log) noexcept;

}  // namespace lull
