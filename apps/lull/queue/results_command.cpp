// SPDX-License-Identifier: Apache-2.0
// What jobs have written: shown, and copied to a folder.
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/apps/lull/job_spec.hpp>
#include <lull/apps/lull/queue/open_queue.hpp>
#include <lull/apps/lull/queue/settings.hpp>
#include <lull/apps/lull/stop_request.hpp>
#include <lull/host/error.hpp>
#include <lull/host/queue/store.hpp>
#include <lull/host/queue/whole_copy.hpp>

namespace lull {

namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

struct result {
  std::string job;
  fs::path path;
};

/// Returns where the results of a job are, which the change says that made it done. Throws usage_error, for people,
/// where they are not in place.
std::vector<fs::path> results_of(queue::job_store& store, std::string const& id) {
  queue::job_entry const job = store.entry(id);
  std::string const begin = "job " + id + " has no results in place: it ";
  if (job.state != queue::entry_state::done) throw usage_error{begin + "is " + std::string{name_of(job.state)}};
  if (!job.in_place) throw usage_error{begin + "is done, and an agent has yet to rename them"};
  for (auto history = store.events(id); !history.empty(); history.pop_back()) {
    queue::job_event const& last = history.back();
    if (last.state != queue::entry_state::done) break;
    std::vector<fs::path> found;
    for (auto const& [from, to] : last.results) found.emplace_back(to);
    if (!found.empty()) return found;
    if (!last.reason.empty()) throw usage_error{"job " + id + ": " + last.reason};
  }
  return {};
}

json described(result const& of) {
  std::error_code none;
  fs::file_status const is = fs::status(of.path, none);
  json made{{"path", of.path.string()}, {"kind", fs::is_directory(is) ? "folder" : "file"}};
  if (fs::exists(is)) {
    made["bytes"] = queue::bytes_of(fs::canonical(of.path));
  } else {
    made["kind"] = "missing";
  }
  return made;
}

/// Returns under which name each comes home. All that can be wrong is found before anything is copied.
std::vector<std::pair<fs::path, fs::path>> planned(std::vector<result> const& all, fs::path const& folder, bool force) {
  if (!fs::is_directory(folder))
    throw usage_error{"--to " + folder.string() + ": there is no such folder: make it first"};
  std::map<fs::path, result const*> targets;
  std::vector<std::pair<fs::path, fs::path>> plan;
  for (result const& each : all) {
    fs::path const to = folder / each.path.filename();
    auto const [at, is_first] = targets.emplace(to, &each);
    if (!is_first)
      throw usage_error{at->second->path.string() + " and " + each.path.string() + " have the same name: give --to " +
                        "another folder for each of jobs " + at->second->job + " and " + each.job};
    if (!fs::exists(each.path))
      throw device_error{ENOENT, "it is not there", "reading a result of job " + each.job, each.path.string()};
    if (fs::exists(to) && fs::equivalent(to, each.path))
      throw usage_error{"--to " + folder.string() + ": " + each.path.string() + " is there, it needs no copy"};
    if (!force && fs::exists(fs::symlink_status(to)))
      throw usage_error{to.string() + " is there already: --force replaces it"};
    plan.emplace_back(fs::canonical(each.path), to);
  }
  return plan;
}

}  // namespace

exit_code results_command(results_settings const& asked, stop_request const& stop, std::ostream& out) {
  auto const store = open_queue(asked.queue);
  std::vector<result> all;
  json jobs = json::array();
  std::vector<std::string> problems;
  for (std::string const& id : asked.ids) {
    json job{{"id", id}, {"in_place", true}, {"why", ""}, {"results", json::array()}};
    try {
      for (fs::path& each : results_of(*store, id)) {
        all.push_back({.job = id, .path = std::move(each)});
        job["results"].push_back(described(all.back()));
      }
    } catch (usage_error const& wrong) {
      problems.emplace_back(wrong.what());
      job["in_place"] = false;
      job["why"] = wrong.what();
    }
    jobs.push_back(std::move(job));
  }
  if (asked.to) {
    if (!problems.empty()) throw usage_error{problems.front() + "; nothing was copied"};
    auto const plan = planned(all, *asked.to, asked.force);
    auto const what = asked.force ? queue::existing::replace : queue::existing::refuse;
    for (auto const& [from, to] : plan)
      if (!queue::copy_whole(from, to, what, [&] { return stop.requested(); })) return exit_code::interrupted;
    std::size_t next = 0;
    for (json& job : jobs)
      for (json& each : job["results"]) each["copy"] = plan[next++].second.string();
  }
  exit_code code = problems.empty() ? exit_code::done : exit_code::usage;
  for (json const& job : jobs) {
    for (json const& each : job["results"]) {
      std::string const path = each.value("copy", each["path"].get<std::string>());
      if (each["kind"] == "missing") {
        problems.push_back("job " + job["id"].get<std::string>() + ": its result " + path + " is not there");
        if (code == exit_code::done) code = exit_code::failed;
      } else if (!asked.json) {
        out << path << (each["kind"] == "folder" ? "/  " : "  ") << each["bytes"].get<std::uint64_t>() << " bytes\n";
      }
    }
  }
  if (asked.json) out << jobs.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
  for (std::string const& each : problems) say(each);
  return code;
}

}  // namespace lull
