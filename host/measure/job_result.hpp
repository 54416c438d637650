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

/// What became of a job.
struct job_result {
  std::string name;
  std::string state;
  std::optional<std::uint64_t> phases;
  std::optional<std::uint64_t> chunks;
  std::optional<std::uint64_t> items;
  std::optional<bool> verified;                // nothing: was not verified
  std::optional<std::uint64_t> failures = {};  // inputs that could not be used; nothing: the job did not finish
  std::vector<task_figure> figures = {};       // of the result of a job that finished
  std::vector<std::string> notes = {};         // on its inputs, as task_owner::notes
};

/// A task whose jobs are over, however they were run.
struct ended_task {
  std::string name;
  task_owner* finished = nullptr;       // the owner of a job that finished, with its arrays; null: none did
  std::function<verification()> judge;  // of all its jobs that finished
  checkpoints* saves = nullptr;
  std::string save_problem = {};                         // why it was not saved the last time
  std::optional<std::vector<std::string>> written = {};  // by a job that finished before another began, as lines
};

/// Returns the message about a task that finished with such a number of failures.
inline std::string named_failures(std::uint64_t failures) {
  return "its results name " + std::to_string(failures) + (failures == 1 ? " failure" : " failures");
}

}  // namespace lull
