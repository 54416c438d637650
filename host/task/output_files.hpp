// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include <lull/host/task/options.hpp>

namespace lull {

/// Returns the files that these options of a task name, if they have a value: what `task_owner::outputs` returns.
std::vector<std::filesystem::path> output_files(option_values const& values,
                                                std::vector<std::string_view> const& options);

/// Checks whether these files could be written; leaves nothing on the disk. Throws usage_error that names task and
/// option.
void check_output_files(std::string_view task, option_values const& values,
                        std::vector<std::string_view> const& options);

}  // namespace lull
