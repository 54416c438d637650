// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/report/report.hpp>
#include <lull/host/measure/side_jobs.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/solo/checkpoints.hpp>
#include <lull/host/task/owner.hpp>
#include <lull/host/task/task_request.hpp>

namespace lull {

/// A task that was asked for, and what it is as a job.
struct job_spec {
  std::string name;      // the task's; of further ones of that kind with their number: "mlp-2"
  task_request request;  // what its owner takes
  int priority = 0;
};

/// The tasks that were asked for on the command line (`texts`), in a job file (`file`), or by default; in that order.
/// Besides its own options each takes those of `job_options`. Errors: usage_error or input_error.
std::vector<job_spec> job_specs(std::vector<std::string> const& texts, std::optional<std::string> const& file);

/// What any task takes: `priority`.
option_table job_options();

/// The known tasks, each with those options after its own; and a library's. Of one thread.
std::span<task_options const> known_with_job_options();
task_options library_task_with_job_options(std::string const& path, std::string_view name);

/// Makes the tasks' owners, and prepares them. Throws limit_error, before any is prepared, unless they fit into memory
/// together.
std::vector<std::unique_ptr<task_owner>> prepared_owners(std::span<job_spec const> tasks, executor& executor);

/// What saves the task's jobs, under its name; null: nothing is to be saved. Says on standard error where nothing is
/// there to resume from. Errors: usage_error.
std::unique_ptr<checkpoints> checkpoints_of(saving const& asked, job_spec const& task, task_owner& owner,
                                            executor& executor);

/// The tasks' owners, prepared, with what saves them: what side jobs are made of. Errors: as of these two.
std::vector<side_task_asked> side_tasks_of(saving const& asked, std::span<job_spec const> tasks, executor& executor);

/// A runtime on such a machine that knows the tasks' types, and says on standard error what it logs.
runtime_options options_for(std::vector<job_spec> const& tasks, executor_options executor);
/// A line on standard error.
void say(std::string_view line);

/// The request with its defaults, for a report.
task_setting setting_of(job_spec const& task);

}  // namespace lull
