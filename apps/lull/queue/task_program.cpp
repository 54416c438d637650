// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/queue/task_program.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <lull/apps/registry/registry.hpp>
#include <lull/host/error.hpp>
#include <lull/host/task/task_request.hpp>

namespace lull {

namespace {

namespace fs = std::filesystem;

/// Returns whether a task writes there: a file, or files below a folder.
bool is_written(fs::path const& path, std::vector<fs::path> const& outputs) {
  return std::any_of(outputs.begin(), outputs.end(), [&](fs::path const& each) {
    fs::path const output = each.lexically_normal();
    return std::mismatch(path.begin(), path.end(), output.begin(), output.end()).first == path.end();
  });
}

/// Below the job's folder, in one spelling.
fs::path absolute(std::string const& path, queue::job_document const& job) {
  fs::path const folder = job.run.folder.empty() ? fs::current_path() : fs::path{job.run.folder};
  fs::path const found = (folder / path).lexically_normal();
  return found.has_filename() ? found : found.parent_path();  // without a slash at its end
}

/// The task as the job asks for it, with its paths below the job's folder.
task_request request_of(queue::job_document const& job) {
  auto const [library, name] = detail::read_task_name(job.run.task);
  if (!library.empty())
    throw usage_error{"task " + job.run.task + ": agents run the tasks of this program alone, and no library's yet"};
  option_table const table = detail::find_task(name, known_tasks()).options;
  task_request made{name, option_values{table}};
  for (auto const& [key, value] : job.run.options) {
    auto const row = std::find_if(table.begin(), table.end(), [&](option const& each) { return each.name == key; });
    bool const is_path = row != table.end() && row->kind == option_kind::path && !value.empty();
    made.values.set(key, is_path ? absolute(value, job).string() : value);
  }
  return made;
}

queue::prepared_job task_program(queue::job_document const& job, queue::attempt const& at,
                                 agent_settings const& asked) {
  task_request const wanted = request_of(job);
  std::vector<fs::path> const outputs = entry_of(wanted.name).make(wanted.values)->outputs();
  queue::prepared_job made{.refuses_by = static_cast<int>(exit_code::usage)};
  task_request request{wanted.name, option_values{wanted.values.table()}};
  for (option const& row : wanted.values.table()) {
    if (!wanted.values.given(row.name)) continue;
    std::string text = wanted.values.spelling(row.name);
    if (row.kind == option_kind::path && is_written(text, outputs)) {
      fs::path const result = at.result(text);
      made.results.emplace_back(result, text);
      text = result;
    }
    request.values.set(row.name, text);
  }
  made.arguments = {"/proc/self/exe", asked.attach ? "work" : "run"};  // also where its file was replaced meanwhile
  if (asked.attach) made.arguments.insert(made.arguments.end(), {"--attach", *asked.attach});
  if (!asked.executor.empty()) made.arguments.insert(made.arguments.end(), {"--executor", asked.executor});
  made.arguments.insert(made.arguments.end(),
                        {"--device", std::to_string(asked.device), "--task", format_task(request), "--checkpoint",
                         at.checkpoint.string(), "--resume", "--checkpoint-every", "10s"});
  return made;
}

}  // namespace

queue::prepared_job program_of(queue::job_document const& job, queue::attempt const& at, agent_settings const& asked) {
  if (job.run.command.empty()) return task_program(job, at, asked);
  return {.arguments = job.run.command};
}

void check_job(queue::job_document const& job) {
  if (job.run.command.empty()) request_of(job);
}

}  // namespace lull
