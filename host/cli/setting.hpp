// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <lull/host/cli/commands.hpp>
#include <lull/host/cli/report.hpp>
#include <lull/host/executor.hpp>

namespace lull {

/// What several commands ask for. Errors: usage_error, with the known names for an unknown one.

/// Empty: cuda if a device answers, else threads. A kind that cannot be had is refused with the reason.
executor_kind parse_executor(std::string_view text, int device);
side_mode parse_mode(std::string_view text);
std::chrono::nanoseconds duration_of(std::string_view text, std::string_view option);
std::string_view name_of(side_mode mode) noexcept;
std::string_view name_of(executor_kind kind) noexcept;

/// Version, machine, whose times these are.
report begin_report(std::string_view command, executor_kind kind, int device);

/// Throws usage_error where the file could not be written later: its folder is missing, or it is one.
void check_writable(std::optional<std::string> const& file, std::string_view option);

}  // namespace lull
