// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lull/apps/lull/job_spec.hpp>

namespace lull {

/// A file for the program's own, and the option that names it.
struct report_file {
  std::string_view option;
  std::optional<std::string> const& file;
};

/// Before any work: no file that a task or the program writes is one that is read, or another that is written; and what
/// tasks write can be written. Throws usage_error.
void check_files(std::vector<job_spec> const& tasks, run_settings const& asked,
                 std::vector<report_file> const& reports);

}  // namespace lull
