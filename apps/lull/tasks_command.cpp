// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/job_spec.hpp>
#include <lull/apps/lull/task_completion.hpp>
#include <lull/apps/registry/registry.hpp>

namespace lull {
namespace {

using json = nlohmann::ordered_json;

std::vector<std::string> executors_of(task_entry const& task) {
  task_type const type = task.type(option_values{task.options});
  std::vector<std::string> names;
  if (type.threads) names.emplace_back("threads");
  if (type.cuda) names.emplace_back("cuda");
  return names;
}

std::string example_of(task_entry const& task) { return "lull run --task " + std::string{task.example}; }

json text_or_null(std::string_view text) { return text.empty() ? json(nullptr) : json(text); }

json json_of(option_table table) {
  json rows = json::array();
  for (option const& row : table) {
    rows.push_back({{"name", row.name},
                    {"kind", name_of(row.kind)},
                    {"default", text_or_null(row.default_value)},
                    {"range", text_or_null(row.range)},
                    {"help", row.help}});
  }
  return rows;
}

json json_of(std::span<task_entry const> tasks) {
  json list = json::array();
  for (task_entry const& each : tasks) {
    list.push_back({{"name", each.name},
                    {"help", each.help},
                    {"executors", executors_of(each)},
                    {"example", example_of(each)},
                    {"options", json_of(each.options)}});
  }
  return {{"schema", "lull.tasks/1"},
          {"version", LULL_VERSION},
          {"tasks", std::move(list)},
          {"options_of_every_task", json_of(job_options())}};
}

void print_one(std::ostream& out, task_entry const& task) {
  out << "runs on: ";
  std::string_view separator;
  for (std::string const& each : executors_of(task)) {
    out << separator << each;
    separator = ", ";
  }
  out << "\nexample: " << example_of(task) << '\n';
}

}  // namespace

exit_code tasks_command(tasks_settings const& asked, std::ostream& out) {
  if (asked.begun) {
    for (std::string const& each : task_completions(*asked.begun)) out << each << '\n';
    return exit_code::done;
  }
  std::span<task_entry const> shown = registry();
  if (asked.name) shown = {&entry_of(*asked.name), 1};
  if (asked.json) {
    out << json_of(shown).dump(2) << '\n';
    return exit_code::done;
  }
  for (task_entry const& each : shown) print_tasks(out, std::array{task_options{each.name, each.help, each.options}});
  out << "options of every task in lull run and lull harvest:\n";
  print_options(out, job_options());
  if (asked.name) print_one(out, shown.front());
  return exit_code::done;
}

}  // namespace lull
