// SPDX-License-Identifier: Apache-2.0
// Makes a queue, and puts jobs into it.
#include <filesystem>
#include <ostream>
#include <utility>

#include <nlohmann/json.hpp>

#include <lull/apps/lull/queue/open_queue.hpp>
#include <lull/apps/lull/queue/settings.hpp>
#include <lull/apps/lull/queue/task_program.hpp>
#include <lull/apps/registry/registry.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/queue/job_document.hpp>
#include <lull/host/queue/spool.hpp>
#include <lull/host/task/task_request.hpp>

namespace lull {

namespace {

queue::job_document job_of(std::string const& text) {
  task_request const request = parse_task(text, known_tasks(), library_task);
  queue::job_document made{.name = request.name};
  made.run.task = request.shared_library.empty() ? request.name : request.shared_library + ":" + request.name;
  for (option const& row : request.values.table())
    if (request.values.given(row.name)) made.run.options.emplace_back(row.name, request.values.spelling(row.name));
  return made;
}

/// What the command line says goes before what a file says.
void adapt(queue::job_document& job, submit_settings const& asked) {
  if (asked.name) job.name = *asked.name;
  if (asked.user) job.user = *asked.user;
  if (asked.priority) job.priority = *asked.priority;
  if (asked.deadline) job.deadline_s = queue::parse_time(*asked.deadline);
  if (asked.at_most) job.wall = parse_duration(*asked.at_most);
  if (job.run.folder.empty()) job.run.folder = std::filesystem::current_path();
}

}  // namespace

exit_code queue_init_command(init_settings const& asked, std::ostream& out) {
  std::string const path = spool_path(asked.queue);
  queue::spool::make(path, parse_duration(asked.lease));
  std::string const lease = format_duration(queue::spool{path}.lease());
  out << "spool:" << path << " is ready; an agent that is not heard of for " << lease << " loses its jobs\n";
  return exit_code::done;
}

exit_code submit_command(submit_settings const& asked, std::ostream& out) {
  if (asked.files.empty() == asked.tasks.empty()) throw usage_error{"give one JOB.json or more, or --task"};
  std::vector<queue::job_document> jobs;
  for (std::string const& text : asked.tasks) jobs.push_back(job_of(text));
  for (std::string const& file : asked.files) {
    for (queue::job_document& each : queue::parse_jobs(read_file(file, queue::max_document_bytes), file))
      jobs.push_back(std::move(each));
  }
  for (queue::job_document& each : jobs) {
    adapt(each, asked);
    check_job(queue::parse_jobs(to_json(each), "the job").front());  // what the command line said is checked, too
  }
  std::vector<std::string> const ids = open_queue(asked.queue)->submit(jobs);
  if (asked.json) {
    out << nlohmann::json(ids).dump() << '\n';
  } else {
    for (std::string const& each : ids) out << each << '\n';
  }
  return exit_code::done;
}

}  // namespace lull
