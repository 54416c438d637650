// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cli/asked_task.hpp>

#include <utility>
#include <vector>

#include <lull/host/catalogue/catalogue.hpp>
#include <lull/host/error.hpp>

namespace lull {

task_request request_of(std::optional<std::string> const& text, std::optional<std::string> const& file) {
  if (text && file) throw usage_error{"--task and --job both name a task: give one of them"};
  if (!file) return parse_task(text.value_or(std::string{catalogue().front().name}), known_tasks());
  std::vector<task_request> asked = read_job_file(*file, known_tasks());
  if (asked.size() != 1) {
    throw usage_error{*file + ": " + std::to_string(asked.size()) + " tasks; one is run at a time: leave one in the file"};
  }
  return std::move(asked.front());
}

task_setting setting_of(task_request const& request) {
  task_setting made{request.name, {}};
  for (option const& row : request.values.table()) {
    if (request.values.has(row.name)) made.options.emplace_back(row.name, request.values.spelling(row.name));
  }
  return made;
}

}  // namespace lull
