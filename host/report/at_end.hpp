// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <lull/host/report/bubble_summary.hpp>

namespace lull {

/// Returns where the bubble report goes when a runtime ends: the file that the environment variable LULL_REPORT names,
/// otherwise `asked`. %p becomes the process and %d the device, so that the ranks of a training do not overwrite each
/// other's files. Empty: no file. Errors: usage_error for an unknown ending or a missing folder, at the start and not
/// after hours of training.
std::string report_path(std::string const& asked, int device);

/// Writes the report; without a path, gives it to `log` as text, a line a call. Logs errors.
void hand_over(bubble_summary const& sum, std::string const& path,
               std::function<void(std::string_view)> const& log) noexcept;

}  // namespace lull
