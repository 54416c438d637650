// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lull/host/cli/asked_task.hpp>

namespace lull {

/// A file for the program's own, and the option that names it.
struct report_file {
  std::string_view option;
  std::optional<std::string> const& file;
};

/// Before any work: no file that a task writes, nor one of `reports`, is one that a task reads, or another that is written. Throws
/// usage_error.
void check_files_apart(std::vector<asked_task> const& tasks, std::vector<report_file> const& reports);

}  // namespace lull
