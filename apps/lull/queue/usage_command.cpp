// SPDX-License-Identifier: Apache-2.0
// What each user's jobs have taken of agents' time, by day.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <map>
#include <ostream>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include <lull/apps/lull/queue/open_queue.hpp>
#include <lull/apps/lull/queue/settings.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/queue/owned_document.hpp>
#include <lull/host/queue/usage.hpp>

namespace lull {

namespace {

using json = nlohmann::ordered_json;
using usages = std::map<std::pair<std::int64_t, std::string>, queue::usage>;  // by day and user

constexpr int user_columns = 24;
constexpr int number_columns = 10;

struct grouping {
  bool user = false;
  bool day = false;
};

grouping grouping_of(std::string const& by) {
  if (by == "user") return {.user = true};
  if (by == "day") return {.day = true};
  if (by == "user,day") return {.user = true, .day = true};
  throw usage_error{"--by " + by + ": it is user, day or user,day"};
}

usages read(queue::job_store& store, grouping const& by, std::int64_t from_s, std::int64_t now_s) {
  usages all;
  for (queue::job_entry const& each : store.list()) {
    if (each.attempt == 0) continue;  // no agent has had it
    try {
      auto const days = queue::usage_by_day(queue::attempts_of(store.events(each.id)), from_s, now_s);
      std::string const user = by.user && !days.empty() ? queue::readable_document(store, each.id).user : "";
      for (auto const& [day, used] : days) all[{by.day ? day : 0, user}] += used;
    } catch (usage_error const&) {  // it was removed meanwhile
    }
  }
  return all;
}

std::string date_of(std::int64_t day) { return queue::format_time(day * queue::day_s).substr(0, 10); }

std::string cell(std::string text, int columns) {
  return text + std::string(static_cast<std::size_t>(std::max<int>(columns - static_cast<int>(text.size()), 1)), ' ');
}

std::string number(std::string const& text) {
  return std::string(static_cast<std::size_t>(std::max<int>(number_columns - static_cast<int>(text.size()), 1)), ' ') +
         text;
}

std::string table(usages const& all, grouping const& by) {
  std::string text = (by.day ? cell("DAY (UTC)", 11) : "") + (by.user ? cell("USER", user_columns) : "");
  for (char const* const each : {"DONE", "FAILED", "ATTEMPTS", "SECONDS"}) text += number(each);
  text += '\n';
  for (auto const& [key, used] : all) {
    auto const& [day, user] = key;
    text += (by.day ? cell(date_of(day), 11) : "") + (by.user ? cell(user.empty() ? "-" : user, user_columns) : "") +
            number(std::to_string(used.done)) + number(std::to_string(used.failed)) +
            number(std::to_string(used.attempts)) + number(std::to_string(used.worked_s)) + '\n';
  }
  return text;
}

json rows(usages const& all, grouping const& by) {
  json made = json::array();
  for (auto const& [key, used] : all) {
    json row = json::object();
    if (by.day) row["day"] = date_of(key.first);
    if (by.user) row["user"] = key.second;
    row.update({{"done", used.done}, {"failed", used.failed}, {"attempts", used.attempts}, {"seconds", used.worked_s}});
    made.push_back(std::move(row));
  }
  return made;
}

}  // namespace

exit_code usage_command(usage_settings const& asked, std::ostream& out) {
  grouping const by = grouping_of(asked.by);
  auto const since = std::chrono::duration_cast<std::chrono::seconds>(parse_duration(asked.since));
  std::int64_t const now_s = std::time(nullptr);
  std::int64_t const from_s = now_s - since.count();
  auto const store = open_queue(asked.queue);
  usages const all = read(*store, by, from_s, now_s);
  bool const is_servers = store->keeps_time();
  if (asked.json) {
    json const shown{{"since", queue::format_time(from_s)},
                     {"until", queue::format_time(now_s)},
                     {"clock", is_servers ? "server" : "agents"},
                     {"usage", rows(all, by)}};
    out << shown.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
    return exit_code::done;
  }
  out << table(all, by) << "since " << queue::format_time(from_s) << ", of jobs that the queue still has; SECONDS: for "
      << "which agents had jobs, by " << (is_servers ? "the server's clock" : "the clocks of the agents' machines")
      << '\n';
  return exit_code::done;
}

}  // namespace lull
