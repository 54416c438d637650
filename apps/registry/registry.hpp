// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include <lull/host/task/owner.hpp>
#include <lull/host/task/task_request.hpp>

namespace lull {

/// The side tasks that the command line and the C library know, the default one first. Lives as long as the program.
std::span<task_entry const> registry();

/// The same as parsers take it.
std::span<task_options const> known_tasks();

/// The task of a shared library, for parsers. Opens the library: `tasks_in` says how, and what is thrown.
task_options library_task(std::string const& path, std::string_view name);

/// Errors: usage_error for a task that is not listed, with those that are, the nearest first.
task_entry const& entry_of(std::string_view name);
/// Of a library's task, too. Errors: as of `task_in`.
task_entry const& entry_of(task_request const& request);

}  // namespace lull
