// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <lull/host/task/owner.hpp>

namespace lull {

/// Opens the shared library `path`, unless it is open already, and returns its side tasks. `path` has a '/', so that no
/// folder is searched. The library's static initialisers run before its ABI can be checked. It stays open until the
/// process ends, also after an error. Thread-safe. Blocks as long as the loader and the library's initialisers do.
///
/// Errors: usage_error that begins with `path` and says why, and what to do.
std::span<task_entry const> tasks_in(std::string const& path);

/// Returns the library's task of that name. Errors: as `tasks_in`; usage_error with the tasks that the library has, the
/// nearest first.
task_entry const& task_in(std::string const& path, std::string_view name);

}  // namespace lull
