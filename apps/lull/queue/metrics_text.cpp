// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/queue/metrics_text.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace lull {

namespace {

using labels = std::vector<std::pair<std::string_view, std::string_view>>;

struct user_metric {
  std::string_view name;
  std::string_view help;
  std::int64_t (*value)(queue::user_figures const&);
};

constexpr user_metric of_users[] = {
    {"lull_queue_attempts", "How often agents have claimed the jobs that the queue has.",
     [](queue::user_figures const& of) { return static_cast<std::int64_t>(of.attempts); }},
    {"lull_queue_failures", "Attempts that failed, since the job was last released or tried again by its user.",
     [](queue::user_figures const& of) { return static_cast<std::int64_t>(of.failures); }},
    {"lull_queue_deaths",
     "Attempts that ended with the death of their process or agent, since the job was last released or tried again.",
     [](queue::user_figures const& of) { return static_cast<std::int64_t>(of.deaths); }},
    {"lull_queue_lost_leases", "Attempts whose agent was not heard of for its lease.",
     [](queue::user_figures const& of) { return static_cast<std::int64_t>(of.lost_leases); }},
    {"lull_queue_worked_seconds", "For how long agents have had the jobs that the queue has.",
     [](queue::user_figures const& of) { return of.worked_s; }},
};

std::string escaped(std::string_view text) {
  std::string made;
  for (char const each : text) {
    if (each == '\\' || each == '"') made += '\\';
    if (each == '\n') {
      made += "\\n";
    } else {
      made += each;
    }
  }
  return made;
}

class writer {
 public:
  explicit writer(std::string_view queue) : queue_(queue) {}

  void head(std::string_view name, std::string_view help) {
    name_ = name;
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
    text_.append("# TYPE ").append(name).append(" gauge\n");
  }
  void sample(std::int64_t value, labels const& more = {}) {
    text_.append(name_).append("{queue=\"").append(escaped(queue_)).append("\"");
    for (auto const& [name, is] : more) text_.append(",").append(name).append("=\"").append(escaped(is)).append("\"");
    text_.append("} ").append(std::to_string(value)).append("\n");
  }
  std::string const& text() const noexcept { return text_; }

 private:
  std::string_view const queue_;
  std::string_view name_;
  std::string text_;
};

/// Returns at most so many users, and `other`.
std::map<std::string, queue::user_figures> bounded(std::map<std::string, queue::user_figures> users) {
  if (users.size() <= max_user_labels) return users;
  auto const jobs = [](queue::user_figures const& of) {
    return std::accumulate(of.jobs.begin(), of.jobs.end(), std::size_t{0});
  };
  std::vector<std::pair<std::size_t, std::string>> order;
  for (auto const& [user, figures] : users) order.emplace_back(jobs(figures), user);
  std::sort(order.begin(), order.end(), std::greater<>{});
  queue::user_figures rest;
  for (std::size_t i = max_user_labels; i < order.size(); ++i) {
    auto const found = users.find(order[i].second);
    rest += found->second;
    users.erase(found);
  }
  users["other"] += rest;
  return users;
}

}  // namespace

std::string metrics_text(queue::queue_figures const& figures, std::string const& address, std::int64_t time_s) {
  auto const users = bounded(figures.users);
  writer to{address};
  to.head("lull_queue_jobs", "Jobs that the queue has; those that are over stay until lull queue clean removes them.");
  for (auto const& [user, of] : users)
    for (std::size_t i = 0; i < of.jobs.size(); ++i)
      to.sample(static_cast<std::int64_t>(of.jobs[i]), {{"state", queue::state_names[i]}, {"user", user}});
  for (user_metric const& each : of_users) {
    to.head(each.name, each.help);
    for (auto const& [user, of] : users) to.sample(each.value(of), {{"user", user}});
  }
  to.head("lull_queue_oldest_waiting_seconds",
          "Age of the oldest job that an agent could begin now, since it was submitted; 0: there is none.");
  to.sample(figures.oldest_waiting_s);
  to.head("lull_queue_agents", "Agents; one is dead when it has been silent for the queue's lease.");
  to.sample(static_cast<std::int64_t>(figures.agents_alive), {{"state", "alive"}});
  to.sample(static_cast<std::int64_t>(figures.agents_dead), {{"state", "dead"}});
  to.head("lull_queue_metrics_timestamp_seconds", "When these figures were taken, since 1970.");
  to.sample(time_s);
  return to.text();
}

}  // namespace lull
