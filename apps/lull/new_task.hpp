// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lull {

/// A file of a new task's project, with `my_task` where the name goes.
struct task_page {
  std::string_view name;
  std::string_view text;
};

/// Those of docs/examples/new_task/, embedded by CMake. Live as long as the program.
std::span<task_page const> task_pages();

/// Throws usage_error, with the reason, for a name that no task can have or that one of `taken` has.
void check_task_name(std::string_view name, std::span<std::string_view const> taken);

/// Writes the project of a task into a folder that is not there, or is there and empty: all of it or nothing. Returns
/// the files' names. Throws usage_error, with the reason, where the folder cannot be written.
std::vector<std::string> write_task(std::string_view name, std::filesystem::path const& folder);

}  // namespace lull
