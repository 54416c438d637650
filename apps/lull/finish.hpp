// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <lull/host/solo/checkpoints.hpp>
#include <lull/host/task/owner.hpp>

namespace lull {

/// A task whose jobs are over, however they were run.
struct ended_task {
  std::string name;
  task_owner* finished = nullptr;       // the owner of a job that finished, with its arrays; null: none did
  std::function<verification()> judge;  // of all its jobs that finished
  checkpoints* saves = nullptr;
  std::string save_problem = {};                         // why it was not saved the last time
  std::optional<std::vector<std::string>> written = {};  // by a job that finished before another began, as lines
};

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

/// What is said of a task that finished with such a number of failures.
std::string named_failures(std::uint64_t failures);

}  // namespace lull
