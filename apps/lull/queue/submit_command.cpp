// SPDX-License-Identifier: Apache-2.0
// Puts jobs into a queue.
#include <chrono>
#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/apps/lull/job_spec.hpp>
#include <lull/apps/lull/queue/open_queue.hpp>
#include <lull/apps/lull/queue/settings.hpp>
#include <lull/apps/lull/queue/task_program.hpp>
#include <lull/apps/lull/stop_request.hpp>
#include <lull/apps/registry/registry.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/queue/job_document.hpp>
#include <lull/host/queue/watched_folder.hpp>
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

std::vector<queue::job_document> jobs_of(submit_settings const& asked) {
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
  return jobs;
}

void print(std::ostream& out, std::vector<std::string> const& ids, bool as_json) {
  if (as_json) out << nlohmann::json(ids).dump() << '\n';
  for (std::string const& each : ids)
    if (!as_json) out << each << '\n';
  out << std::flush;
}

constexpr char const* each_label = "each";          // the path
constexpr char const* each_job_label = "each_job";  // which of the jobs that are submitted for it

/// Makes the job with that number for a path.
queue::job_document job_for(queue::job_document const& of, std::string const& path, std::size_t number) {
  queue::job_document made = with_value(of, each_label, path);
  made.labels[each_label] = path;
  made.labels[each_job_label] = std::to_string(number);
  queue::job_document read = queue::parse_jobs(to_json(made), "the job for " + path).front();
  if (read.labels[each_label] != path) throw input_error{path, 0, "its name is not UTF-8: rename it"};
  return read;
}

/// Submits the jobs for whatever appears in a folder, until it is asked to stop. What was submitted is known by the
/// jobs' labels, so that a watch that begins again submits nothing twice.
exit_code watch(submit_settings const& asked, std::vector<queue::job_document> const& jobs, stop_request const& stop,
                std::ostream& out) {
  constexpr std::chrono::milliseconds look_every{500};
  constexpr std::chrono::milliseconds looks_at_stop{20};
  using clock = std::chrono::steady_clock;
  std::string folder = std::filesystem::absolute(*asked.each).lexically_normal();
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  auto const store = open_queue(asked.queue);
  std::set<std::pair<std::string, std::string>> submitted;  // paths, with the jobs' numbers
  for (queue::job_entry const& each : store->list()) {
    try {
      auto const labels = store->document(each.id).labels;
      if (labels.contains(each_label) && labels.contains(each_job_label))
        submitted.emplace(labels.at(each_label), labels.at(each_job_label));
    } catch (input_error const&) {  // agents refuse it
    }
  }
  queue::watched_folder watched{folder, {.marker = asked.marker.value_or(""), .quiet = parse_duration(asked.quiet)}};
  while (!stop.requested()) {
    for (std::string const& name : watched.complete(clock::now())) {
      std::string const path = folder + "/" + name;
      std::vector<queue::job_document> made;
      try {
        for (std::size_t i = 0; i < jobs.size(); ++i)
          if (!submitted.contains({path, std::to_string(i)})) made.push_back(job_for(jobs[i], path, i));
      } catch (input_error const& wrong) {
        say(wrong.what());
        continue;
      }
      if (!made.empty()) print(out, store->submit(made), asked.json);
    }
    for (auto const until = clock::now() + look_every; clock::now() < until && !stop.requested();)
      std::this_thread::sleep_for(looks_at_stop);
  }
  return exit_code::done;
}

}  // namespace

exit_code submit_command(submit_settings const& asked, stop_request const& stop, std::ostream& out) {
  std::vector<queue::job_document> const jobs = jobs_of(asked);
  if (asked.each) return watch(asked, jobs, stop, out);
  print(out, open_queue(asked.queue)->submit(jobs), asked.json);
  return exit_code::done;
}

}  // namespace lull
