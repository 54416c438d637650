// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <lull/host/measure/job_result.hpp>

namespace lull {

/// What became of tasks that are over.
struct outcome {
  std::vector<std::string> lines;             // with a task's name in front, where there are several
  std::vector<std::optional<bool>> verified;  // (tasks,)
  bool good = true;                           // all that finished is right, written, and of whole inputs
  bool all_finished = true;
};

enum class results_judged { no, yes };

/// Verifies and writes what each task that finished found, and says how to go on with the others. One that cannot be
/// written does not keep the others' results back. What was saved is forgotten when all have finished, are written, and
/// nothing of them failed.
outcome finish(std::vector<ended_task> const& tasks, results_judged judged);

}  // namespace lull
