// SPDX-License-Identifier: Apache-2.0
// Removes jobs that have been over for a time.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/apps/lull/queue/open_queue.hpp>
#include <lull/apps/lull/queue/settings.hpp>
#include <lull/apps/lull/setting.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/units.hpp>

namespace lull {

namespace {

using entries = std::vector<queue::job_entry>;

/// Returns a job's document; nothing where it is not there, or cannot be read.
std::optional<queue::job_document> document_of(queue::job_store& store, std::string const& id) {
  try {
    return store.document(id);
  } catch (device_error const&) {
    throw;
  } catch (error const&) {
    return std::nullopt;
  }
}

/// Returns the jobs that others, which are not over, await.
std::set<std::string> awaited(queue::job_store& store, entries const& all) {
  std::set<std::string> found;
  for (queue::job_entry const& each : all) {
    if (queue::is_over(each.state)) continue;
    if (auto const job = document_of(store, each.id)) found.insert(job->after.jobs.begin(), job->after.jobs.end());
  }
  return found;
}

/// Why a job that is over stays; empty: nothing keeps it.
std::string why_kept(queue::job_store& store, queue::job_entry const& job, std::set<std::string> const& awaited,
                     std::int64_t before_s) {
  if (job.state == queue::entry_state::done && !job.in_place) return "its results are not in place";
  if (awaited.contains(job.id)) return "a job awaits it";
  auto const history = store.events(job.id);
  if (history.empty() || history.back().time_s > before_s) return "it was over later than that";
  // `submit --each` submits what no job has been submitted for.
  auto const document = document_of(store, job.id);
  auto const labels = document ? document->labels : std::map<std::string, std::string>{};
  auto const each = labels.find("each");
  if (std::error_code none; each != labels.end() && std::filesystem::exists(each->second, none))
    return "its file is there, and would be submitted again";
  return {};
}

}  // namespace

exit_code queue_clean_command(clean_settings const& asked, std::ostream& out) {
  auto const older = std::chrono::duration_cast<std::chrono::seconds>(parse_duration(asked.older));
  std::int64_t const before_s = std::time(nullptr) - older.count();
  auto const store = open_queue(asked.queue);
  entries const all = store->list();
  std::set<std::string> const stay = awaited(*store, all);
  std::vector<std::string> removed;
  std::map<std::string, std::string> kept;
  for (queue::job_entry const& each : all) {
    if (!queue::is_over(each.state)) continue;
    std::string why = why_kept(*store, each, stay, before_s);
    if (why.empty() && !store->remove(each)) why = "it has just changed";
    if (why.empty()) {
      removed.push_back(each.id);
    } else {
      kept.emplace(each.id, std::move(why));
    }
  }
  // What is younger may be of processes that still run.
  std::int64_t const day_ago_s = std::time(nullptr) - std::chrono::seconds{std::chrono::hours{24}}.count();
  std::size_t const litter = store->remove_litter(std::min(before_s, day_ago_s));
  if (asked.json) {
    out << nlohmann::ordered_json{{"removed", removed}, {"kept", kept}, {"litter", litter}}.dump(2) << '\n';
    return exit_code::done;
  }
  std::map<std::string, std::size_t> reasons;
  for (auto const& [id, why] : kept) ++reasons[why];
  out << "removed " << removed.size() << " jobs\n";
  if (litter != 0) out << "removed what " << litter << " calls left that were never finished\n";
  for (auto const& [why, count] : reasons) out << "kept " << count << ": " << why << '\n';
  return exit_code::done;
}

}  // namespace lull
