// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/job_spec.hpp>

#include <filesystem>
#include <iostream>
#include <map>
#include <utility>

#include <lull/apps/lull/setting.hpp>
#include <lull/apps/registry/registry.hpp>
#include <lull/host/error.hpp>

namespace lull {
namespace {

constexpr std::size_t max_tasks = 64;  // at once; all are in memory

constexpr option of_any_job[] = {
    {"priority", option_kind::integer, "0", "[-1000, 1000]",
     "jobs of higher priority go first; equal ones in the order of submission"},
};

/// What is the owner's alone, so that a checkpoint does not depend on what is the job's.
option_values own_values(task_request const& given, option_table own) {
  option_values values{own};
  for (option const& row : own) {
    if (given.values.given(row.name)) values.set(row.name, given.values.spelling(row.name));
  }
  return values;
}

/// The task's options, then those of any job; kept as long as the program runs.
task_options with_job_options(task_options task) {
  static std::map<std::pair<option const*, std::size_t>, std::vector<option>> tables;  // by the task's own
  std::vector<option>& rows = tables[{task.options.data(), task.options.size()}];
  if (rows.empty()) {
    rows.assign(task.options.begin(), task.options.end());
    rows.insert(rows.end(), std::begin(of_any_job), std::end(of_any_job));
  }
  task.options = rows;
  return task;
}

}  // namespace

option_table job_options() { return of_any_job; }

std::span<task_options const> known_with_job_options() {
  static std::vector<task_options> const known = [] {
    std::vector<task_options> made;
    for (task_options const& each : known_tasks()) made.push_back(with_job_options(each));
    return made;
  }();
  return known;
}

task_options library_task_with_job_options(std::string const& path, std::string_view name) {
  return with_job_options(library_task(path, name));
}

std::vector<job_spec> job_specs(std::vector<std::string> const& texts, std::optional<std::string> const& file) {
  if (!texts.empty() && file) throw usage_error{"--task and --job both name tasks: give one of them"};
  std::vector<task_request> given;
  if (file) {
    given = read_job_file(*file, known_with_job_options(), library_task_with_job_options);
  } else {
    for (std::string const& text : texts)
      given.push_back(parse_task(text, known_with_job_options(), library_task_with_job_options));
    if (texts.empty()) given.push_back(parse_task(registry().front().name, known_with_job_options()));
  }
  if (given.size() > max_tasks) {
    throw usage_error{std::to_string(given.size()) + " tasks are given: run at most " + std::to_string(max_tasks) +
                      " at once"};
  }
  std::map<std::string, int> of_kind;
  std::vector<job_spec> made;
  for (task_request& each : given) {
    int const number = ++of_kind[each.name];
    std::string name = number == 1 ? each.name : each.name + "-" + std::to_string(number);
    int const priority = static_cast<int>(each.values.integer("priority"));
    option_values own = own_values(each, entry_of(each).options);
    made.push_back({std::move(name), {std::move(each.name), std::move(own), std::move(each.shared_library)}, priority});
  }
  return made;
}

std::vector<std::unique_ptr<task_owner>> prepared_owners(std::span<job_spec const> tasks, executor& executor) {
  std::vector<std::unique_ptr<task_owner>> owners;
  std::vector<job_need> needs;
  for (job_spec const& each : tasks) {
    owners.push_back(entry_of(each.request).make(each.request.values));
    needs.push_back({each.name, owners.back()->needs(executor.kind())});
  }
  check_memory(needs, executor);
  for (auto const& each : owners) each->prepare(executor);
  return owners;
}

std::unique_ptr<checkpoints> checkpoints_of(saving const& asked, job_spec const& task, task_owner& owner,
                                            executor& executor) {
  if (!asked.folder) return nullptr;
  auto made = std::make_unique<checkpoints>(*asked.folder, duration_of(asked.every, "--checkpoint-every"), asked.resume,
                                            task.name, task.request, owner, executor);
  if (asked.resume && !std::filesystem::exists(made->file()))
    say("--resume: there is no " + made->file().string() + ": '" + task.name + "' begins from the start");
  return made;
}

void say(std::string_view line) { std::cerr << "lull: " << line << '\n'; }

std::vector<side_task_asked> side_tasks_of(saving const& asked, std::span<job_spec const> tasks, executor& executor) {
  auto owners = prepared_owners(tasks, executor);
  std::vector<side_task_asked> made;
  for (std::size_t t = 0; t < owners.size(); ++t) {
    auto saves = checkpoints_of(asked, tasks[t], *owners[t], executor);
    made.push_back({tasks[t].name, {}, tasks[t].priority, std::move(saves)});
    made.back().owners.push_back(std::move(owners[t]));
  }
  return made;
}

runtime_options options_for(std::vector<job_spec> const& tasks, executor_options executor) {
  runtime_options made{.executor = executor, .log = say};
  for (job_spec const& each : tasks) made.tasks.push_back(entry_of(each.request).type(each.request.values));
  return made;
}

task_setting setting_of(job_spec const& task) {
  task_setting made{.name = task.request.name, .options = {}, .shared_library = task.request.shared_library};
  option_values const& values = task.request.values;
  for (option const& row : values.table()) {
    if (values.has(row.name)) made.options.emplace_back(row.name, values.spelling(row.name));
  }
  made.options.emplace_back("priority", std::to_string(task.priority));
  return made;
}

}  // namespace lull
