// SPDX-License-Identifier: Apache-2.0
// What is in a queue: its jobs, one job with its history, its agents, and what a job has printed.
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <ostream>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/apps/lull/job_spec.hpp>
#include <lull/apps/lull/queue/open_queue.hpp>
#include <lull/apps/lull/queue/settings.hpp>
#include <lull/apps/lull/queue/task_program.hpp>
#include <lull/apps/lull/stop_request.hpp>
#include <lull/host/error.hpp>
#include <lull/host/queue/job_id.hpp>
#include <lull/host/queue/owned_document.hpp>
#include <lull/host/queue/policy.hpp>

namespace lull {

namespace {

using json = nlohmann::ordered_json;
using entries = std::map<std::string, queue::job_entry>;

constexpr std::size_t max_name_columns = 24;

/// What a queue is at one moment.
struct snapshot {
  entries all{};
  std::optional<queue::drain_order> drained{};
};

snapshot snapshot_of(queue::job_store& store) {
  snapshot made{.drained = store.drained()};
  for (queue::job_entry& each : store.list()) made.all.emplace(each.id, std::move(each));
  return made;
}

/// What not every agent does.
std::string wanted_of_agents(queue::what_runs const& run) {
  if (!run.command.empty()) return " with --allow-commands";
  if (!is_foreign(run)) return "";
  return " that may run " + program_of(run) +
         ": its --allow names a folder that holds it; beside a trainer it has --allow-untested, too";
}

/// Why the job is as it is, in words.
std::string reason_of(queue::job_store& store, queue::job_entry const& entry, queue::job_document const& job,
                      snapshot const& now) {
  if (queue::waits(entry.state)) {
    queue::readiness const is = queue::readiness_of(job, now.all);
    if (is.what != queue::readiness::ready) return is.why;
    if (now.drained) return text_of(*now.drained);
    if (entry.state == queue::entry_state::queued) return "waits for an agent" + wanted_of_agents(job.run);
  }
  if (entry.state == queue::entry_state::done && !entry.in_place) return "its results are not in place yet";
  for (auto history = store.events(entry.id); !history.empty(); history.pop_back())
    if (!history.back().reason.empty()) return history.back().reason;
  return {};
}

json described(queue::job_store& store, queue::job_entry const& entry, snapshot const& now) {
  queue::job_document job;
  std::string reason;
  try {
    job = queue::owned_document(store, entry.id);
    reason = reason_of(store, entry, job, now);
  } catch (error const& wrong) {  // of this job alone
    reason = wrong.what();
  }
  return {{"id", entry.id},
          {"name", job.name},
          {"state", queue::name_of(entry.state)},
          {"in_place", entry.in_place},
          {"reason", reason},
          {"priority", entry.priority},
          {"attempts", entry.attempt},
          {"agent", entry.agent},
          {"user", job.user},
          {"submitted", queue::format_time(static_cast<std::int64_t>(queue::made_ms(entry.id) / 1'000))}};
}

std::string cell(std::string text, std::size_t columns) {
  if (text.size() > columns) text = text.substr(0, columns - 1) + "~";
  return text + std::string(columns - text.size() + 1, ' ');
}

std::string row(json const& job) {
  return cell(job["id"], 20) + cell(job["state"], 9) + cell(std::to_string(job["priority"].get<int>()), 8) +
         cell(std::to_string(job["attempts"].get<unsigned>()), 8) + cell(job["name"], max_name_columns) +
         job["reason"].get<std::string>() + "\n";
}

void print(std::ostream& out, json const& what) {
  out << what.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

}  // namespace

exit_code jobs_command(jobs_settings const& asked, std::ostream& out) {
  auto const store = open_queue(asked.queue);
  snapshot const now = snapshot_of(*store);
  if (asked.why) {
    json const job = described(*store, store->entry(*asked.why), now);
    out << job["state"].get<std::string>() << ": " << job["reason"].get<std::string>() << '\n';
    return exit_code::done;
  }
  json jobs = json::array();
  exit_code code = exit_code::done;
  for (std::string const& id : asked.ids) {
    try {
      jobs.push_back(described(*store, store->entry(id), now));
    } catch (usage_error const& wrong) {
      say(wrong.what());
      code = exit_code::usage;
    }
  }
  for (auto const& [id, each] : now.all)
    if (asked.ids.empty() && (asked.all || !queue::is_over(each.state))) jobs.push_back(described(*store, each, now));
  if (asked.json) {
    print(out, jobs);
    return code;
  }
  out << cell("ID", 20) << cell("STATE", 9) << cell("PRIORITY", 8) << cell("ATTEMPTS", 8)
      << cell("NAME", max_name_columns) << "WHY\n";
  for (json const& each : jobs) out << row(each);
  if (asked.ids.empty() && !asked.all && jobs.size() < now.all.size())
    out << now.all.size() - jobs.size() << " more are over: --all shows them\n";
  return code;
}

exit_code show_command(job_settings const& asked, std::ostream& out) {
  auto const store = open_queue(asked.queue);
  snapshot const now = snapshot_of(*store);
  json shown = json::array();
  for (std::string const& id : asked.ids) {
    json job = described(*store, store->entry(id), now);
    if (!job["name"].get<std::string>().empty())
      job["document"] = json::parse(to_json(queue::owned_document(*store, id)));
    job["history"] = json::array();
    for (queue::job_event const& each : store->events(id))
      job["history"].push_back({{"time", queue::format_time(each.time_s)},
                                {"state", queue::name_of(each.state)},
                                {"attempt", each.attempt},
                                {"agent", each.agent},
                                {"reason", each.reason}});
    shown.push_back(std::move(job));
  }
  print(out, shown);
  return exit_code::done;
}

exit_code agents_command(queue_settings const& asked, std::ostream& out) {
  auto const store = open_queue(asked.queue);
  auto const drained = store->drained();
  json all = json::array();
  for (queue::agent_record const& each : store->agents())
    all.push_back({{"id", each.id},
                   {"host", each.host},
                   {"process", each.process},
                   {"offers", each.offers},
                   {"drained", drained.has_value()}});
  if (asked.json) {
    print(out, all);
    return exit_code::done;
  }
  out << cell("ID", 12) << cell("HOST", 20) << cell("PROCESS", 8) << "OFFERS\n";
  for (json const& each : all)
    out << cell(each["id"], 12) << cell(each["host"], 20)
        << cell(std::to_string(each["process"].get<std::int64_t>()), 8) << each["offers"].get<std::string>() << '\n';
  if (drained) out << text_of(*drained) << '\n';
  return exit_code::done;
}

exit_code logs_command(logs_settings const& asked, stop_request const& stop, std::ostream& out) {
  constexpr std::chrono::milliseconds look_every{200};
  auto const store = open_queue(asked.queue);
  std::streamoff shown = 0;
  for (unsigned attempt = 0;;) {
    queue::job_entry const now = store->entry(asked.id);
    if (now.attempt != std::exchange(attempt, now.attempt)) shown = 0;
    std::ifstream log{store->folder(asked.id) / ("log-" + std::to_string(attempt)), std::ios::binary};
    if (!log && !asked.follow) throw usage_error{"job " + asked.id + " has not been begun: there is no log of it"};
    log.seekg(shown);
    std::array<char, 1 << 16> piece{};
    while (log.read(piece.data(), piece.size()), log.gcount() > 0) {
      out.write(piece.data(), log.gcount());
      shown += log.gcount();
    }
    out << std::flush;
    if (!asked.follow || is_over(now.state) || now.state == queue::entry_state::held || stop.requested() || !out)
      return exit_code::done;
    std::this_thread::sleep_for(look_every);
  }
}

}  // namespace lull
