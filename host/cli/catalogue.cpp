// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cli/catalogue.hpp>

#include <array>

#include <lull/graph/pagerank_owner.hpp>
#include <lull/host/error.hpp>
#include <lull/tasks/synthetic_owner.hpp>

namespace lull {

std::span<task_entry const> catalogue() {
  static std::array const entries{pagerank_entry(), compute_entry(), streaming_entry()};
  return entries;
}

std::span<task_options const> known_tasks() {
  static std::vector<task_options> const known = [] {
    std::vector<task_options> made;
    for (task_entry const& each : catalogue()) made.push_back({each.name, each.help, each.options});
    return made;
  }();
  return known;
}

task_request request_of(std::optional<std::string> const& text, std::optional<std::string> const& file) {
  if (text && file) throw usage_error{"--task and --job both name a task: give one of them"};
  if (!file) return parse_task(text.value_or(std::string{catalogue().front().name}), known_tasks());
  std::vector<task_request> asked = read_job_file(*file, known_tasks());
  if (asked.size() != 1) {
    throw usage_error{*file + ": " + std::to_string(asked.size()) + " tasks; one is run at a time: leave one in the file"};
  }
  return std::move(asked.front());
}

task_entry const& entry_of(task_request const& request) {
  for (task_entry const& each : catalogue()) {
    if (each.name == request.name) return each;
  }
  throw usage_error{"unknown task \"" + request.name + "\""};
}

task_setting setting_of(task_request const& request) {
  task_setting made{request.name, {}};
  for (option const& row : request.values.table()) {
    if (request.values.has(row.name)) made.options.emplace_back(row.name, request.values.spelling(row.name));
  }
  return made;
}

}  // namespace lull
