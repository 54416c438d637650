// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/queue/task_program.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lull/apps/registry/registry.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/path_within.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/task/task_request.hpp>

namespace lull {

namespace {

namespace fs = std::filesystem;

/// Returns whether a task writes there: a file, or files below a folder.
bool is_written(fs::path const& path, std::vector<fs::path> const& outputs) {
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](fs::path const& each) { return is_within(each.lexically_normal(), path); });
}

/// Of what stands before the colon of a Python function; otherwise it is a module's name.
bool is_file(std::string const& code) { return code.ends_with(".py"); }

/// Below the job's folder, in one spelling.
fs::path absolute(std::string const& path, queue::job_document const& job) {
  fs::path const folder = job.run.folder.empty() ? fs::current_path() : fs::path{job.run.folder};
  fs::path const found = (folder / path).lexically_normal();
  return found.has_filename() ? found : found.parent_path();  // without a slash at its end
}

bool is_result(queue::what_runs const& run, std::string const& option) {
  return std::find(run.results.begin(), run.results.end(), option) != run.results.end();
}

/// Throws usage_error for a result whose folder would take the place of the one in which the job runs, with all in it.
void refuse_own_folder(fs::path const& result, queue::job_document const& job) {
  if (is_within(absolute(".", job), result))
    throw usage_error{"a result cannot be " + result.string() + ": the job runs there"};
}

/// The value with which this attempt writes a file of its own; it becomes a result.
std::string as_result(std::string const& wanted, queue::job_document const& job, queue::attempt const& at,
                      queue::prepared_job& into) {
  refuse_own_folder(wanted, job);
  std::string const own = at.result(wanted);
  into.results.emplace_back(own, wanted);
  return own;
}

/// The task of this program as the job asks for it, with its paths below the job's folder.
task_request request_of(queue::job_document const& job) {
  if (!job.run.results.empty())
    throw usage_error{"\"results\" are of libraries and Python: task " + job.run.task + " says itself what it writes"};
  option_table const table = detail::find_task(job.run.task, known_tasks()).options;
  task_request made{job.run.task, option_values{table}};
  for (auto const& [key, value] : job.run.options) {
    auto const row = std::find_if(table.begin(), table.end(), [&](option const& each) { return each.name == key; });
    bool const is_path = row != table.end() && row->kind == option_kind::path && !value.empty();
    made.values.set(key, is_path ? absolute(value, job).string() : value);
  }
  return made;
}

/// … as an attempt runs it.
std::string own_task(queue::job_document const& job, queue::attempt const& at, queue::prepared_job& into) {
  task_request const wanted = request_of(job);
  std::vector<fs::path> const outputs = entry_of(wanted.name).make(wanted.values)->outputs();
  task_request request{wanted.name, option_values{wanted.values.table()}};
  for (option const& row : wanted.values.table()) {
    if (!wanted.values.given(row.name)) continue;
    std::string const text = wanted.values.spelling(row.name);
    bool const is_output = row.kind == option_kind::path && is_written(text, outputs);
    request.values.set(row.name, is_output ? as_result(text, job, at, into) : text);
  }
  return format_task(request);
}

bool is_of_library(queue::what_runs const& run) { return !detail::read_task_name(run.task).shared_library.empty(); }

/// Where the code of a library or of Python is; nothing: not in an allowed folder.
std::optional<allowed_folders::code> find_code(queue::job_document const& job, allowed_folders const& allowed) {
  if (job.run.python.empty())
    return allowed.find_file(absolute(detail::read_task_name(job.run.task).shared_library, job));
  std::string const code = queue::split_entry(job.run.python).first;
  return is_file(code) ? allowed.find_file(absolute(code, job)) : allowed.find_module(code);
}

allowed_folders::code found_code(queue::job_document const& job, allowed_folders const& allowed) {
  auto const found = find_code(job, allowed);
  if (!found) throw usage_error{program_of(job.run) + " is no longer in a folder from which code may be run"};
  refuse_if_others_can_change(found->file);
  refuse_if_others_can_change_any(found->folder);
  return *found;
}

/// A library's. This process does not load it, so what it writes is what the job says.
std::string foreign_task(queue::job_document const& job, queue::attempt const& at, allowed_folders const& allowed,
                         queue::prepared_job& into) {
  std::string const name = detail::read_task_name(job.run.task).name;
  std::vector<option> table;
  for (auto const& [key, value] : job.run.options) table.push_back({key, option_kind::text, {}, {}, "of the library"});
  task_request request{name, option_values{table}, found_code(job, allowed).file.string()};
  for (auto const& [key, value] : job.run.options)
    request.values.set(key, is_result(job.run, key) ? as_result(absolute(value, job), job, at, into) : value);
  return format_task(request);
}

/// Of this program, and of the package's lull.entry.
constexpr queue::end_codes own_codes{.refused = static_cast<int>(exit_code::usage),
                                     .stopped = static_cast<int>(exit_code::interrupted),
                                     .no_place = static_cast<int>(exit_code::not_attached)};

void add_place(std::vector<std::string>& arguments, agent_settings const& asked) {
  if (asked.attach) arguments.insert(arguments.end(), {"--attach", *asked.attach});
  if (!asked.executor.empty()) arguments.insert(arguments.end(), {"--executor", asked.executor});
  arguments.insert(arguments.end(), {"--device", std::to_string(asked.device)});
}

queue::prepared_job task_program(queue::job_document const& job, queue::attempt const& at, agent_settings const& asked,
                                 allowed_folders const& allowed) {
  queue::prepared_job made{.says = own_codes};
  std::string const task = is_of_library(job.run) ? foreign_task(job, at, allowed, made) : own_task(job, at, made);
  made.arguments = {"/proc/self/exe", asked.attach ? "work" : "run"};  // also where its file was replaced meanwhile
  add_place(made.arguments, asked);
  made.arguments.insert(made.arguments.end(), {"--task", task, "--checkpoint", at.checkpoint.string(), "--resume",
                                               "--checkpoint-every", "10s"});
  return made;
}

/// Python begins in a folder from which nobody imports anything, and goes to the job's when it has loaded the package.
queue::prepared_job python_program(queue::job_document const& job, queue::attempt const& at,
                                   agent_settings const& asked, allowed_folders const& allowed) {
  queue::prepared_job made{.says = own_codes, .folder = "/"};
  made.arguments = {asked.python, "-u", "-m", "lull.entry"};
  add_place(made.arguments, asked);
  auto const [code, function] = queue::split_entry(job.run.python);
  allowed_folders::code const found = found_code(job, allowed);
  if (asked.python.find('/') != asked.python.npos && ::access(asked.python.c_str(), X_OK) != 0)
    throw device_error{errno, std::strerror(errno), "access", asked.python};  // of this machine, not of the job
  made.arguments.insert(made.arguments.end(), {"--modules", found.folder.string(), "--folder",
                                               absolute(".", job).string(), "--checkpoint", at.checkpoint.string()});
  for (auto const& [key, value] : job.run.options) {
    std::string const text = is_result(job.run, key) ? as_result(absolute(value, job), job, at, made) : value;
    made.arguments.push_back("--option=" + key + "=" + text);
  }
  made.arguments.push_back((is_file(code) ? found.file.string() : code) + ":" + function);
  return made;
}

}  // namespace

bool is_foreign(queue::what_runs const& run) { return !run.python.empty() || is_of_library(run); }

bool is_allowed(queue::job_document const& job, agent_settings const& asked, allowed_folders const& allowed) {
  if (!job.run.command.empty()) return asked.allow_commands;
  return !is_foreign(job.run) || find_code(job, allowed).has_value();
}

queue::prepared_job program_of(queue::job_document const& job, queue::attempt const& at, agent_settings const& asked,
                               allowed_folders const& allowed) {
  if (!job.run.command.empty()) return {.arguments = job.run.command};
  queue::prepared_job made =
      job.run.python.empty() ? task_program(job, at, asked, allowed) : python_program(job, at, asked, allowed);
  made.is_foreign = is_foreign(job.run);
  if (asked.tries_for && made.is_foreign) made.tries_for = parse_duration(*asked.tries_for);
  return made;
}

void check_job(queue::job_document const& job) {
  for (auto const& [key, value] : job.run.options)
    if (is_result(job.run, key)) refuse_own_folder(absolute(value, job), job);
  if (!job.run.task.empty() && !is_of_library(job.run)) request_of(job);
}

}  // namespace lull
