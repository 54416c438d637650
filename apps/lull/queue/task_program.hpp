// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lull/apps/lull/queue/allowed_folders.hpp>
#include <lull/apps/lull/queue/settings.hpp>
#include <lull/host/queue/agent.hpp>

namespace lull {

/// Returns whether it is code that does not come with this program: a library's, or in Python.
bool is_foreign(queue::what_runs const& run);

/// Returns whether an agent that was asked for so runs the job, or leaves it to others.
bool is_allowed(queue::job_document const& job, agent_settings const& asked, allowed_folders const& allowed);

/// Returns the program that an agent runs for one attempt of a job that it may run: this program with `run` or
/// `work --attach` for a task, Python with the package's `lull.entry`, or the command itself. Throws usage_error or
/// input_error if the job cannot run so.
queue::prepared_job program_of(queue::job_document const& job, queue::attempt const& at, agent_settings const& asked,
                               allowed_folders const& allowed);

/// Checks what a job names before it is submitted: the task and its options. Throws usage_error.
void check_job(queue::job_document const& job);

}  // namespace lull
