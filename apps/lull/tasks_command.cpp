// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/job_spec.hpp>
#include <lull/apps/lull/pages/shell_text.hpp>
#include <lull/apps/registry/registry.hpp>
#include <lull/host/task/library_loader.hpp>

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

/// The tasks that are shown, and the library that they are of.
struct shown_tasks {
  std::span<task_entry const> tasks;
  std::string shared_library{};  // its path; empty: they are linked in
  bool one = false;              // was asked for by its name
};

shown_tasks asked_for(std::optional<std::string> const& text) {
  if (!text) return {registry()};
  detail::task_name const asked = detail::read_task_name(*text);
  if (asked.shared_library.empty()) return {{&entry_of(asked.name), 1}, {}, true};
  if (asked.name.empty()) return {tasks_in(asked.shared_library), asked.shared_library};
  return {{&task_in(asked.shared_library, asked.name), 1}, asked.shared_library, true};
}

/// As a request names the task. `options`: as its example has them.
std::string request_of(shown_tasks const& shown, task_entry const& task, std::string_view options = {}) {
  std::string const name = format_task({std::string{task.name}, option_values{{}}, shown.shared_library});
  return name + (options.empty() ? "" : (shown.shared_library.empty() ? ":" : ",") + std::string{options});
}

std::string example_of(shown_tasks const& shown, task_entry const& task) {
  std::size_t const colon = task.example.find(':');
  std::string_view const options = colon == std::string_view::npos ? "" : task.example.substr(colon + 1);
  return "lull run --task " + in_shell(request_of(shown, task, options));
}

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

json json_of(shown_tasks const& shown) {
  json list = json::array();
  for (task_entry const& each : shown.tasks) {
    list.push_back({{"name", each.name},
                    {"help", each.help},
                    {"executors", executors_of(each)},
                    {"example", example_of(shown, each)},
                    {"options", json_of(each.options)},
                    {"library", text_or_null(shown.shared_library)}});
  }
  return {{"schema", "lull.tasks/1"},
          {"version", LULL_VERSION},
          {"tasks", std::move(list)},
          {"options_of_every_task", json_of(job_options())}};
}

void print_one(std::ostream& out, shown_tasks const& shown) {
  task_entry const& task = shown.tasks.front();
  out << "runs on: ";
  std::string_view separator;
  for (std::string const& each : executors_of(task)) {
    out << separator << each;
    separator = ", ";
  }
  out << "\nexample: " << example_of(shown, task) << '\n';
}

}  // namespace

exit_code tasks_command(tasks_settings const& asked, std::ostream& out) {
  shown_tasks const shown = asked_for(asked.name);
  if (asked.json) {
    out << json_of(shown).dump(2) << '\n';
    return exit_code::done;
  }
  for (task_entry const& each : shown.tasks) {
    std::string const name = request_of(shown, each);
    print_tasks(out, std::array{task_options{name, each.help, each.options}});
  }
  out << "options of every task in lull run and lull harvest:\n";
  print_options(out, job_options());
  if (shown.one) print_one(out, shown);
  return exit_code::done;
}

}  // namespace lull
