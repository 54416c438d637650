// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/profile.hpp>

#include <initializer_list>
#include <ostream>

#include <nlohmann/json.hpp>

#include <lull/host/io/host_memory.hpp>
#include <lull/host/io/wrapped.hpp>
#include <lull/host/report/time_text.hpp>

namespace lull {
namespace {

using json = nlohmann::ordered_json;

/// What the machine's report has of it already, in the same words.
json taken(json const& of_report, std::initializer_list<char const*> keys) {
  json found;
  for (char const* const key : keys) found[key] = of_report[key];
  return found;
}

json value_of(task_profile::in_bubbles const& one) {
  json const told = json::parse(to_json(one.found));
  auto const appetite = appetite_percent(one.found);
  json found{{"longest_bubble", one.longest},
             {"segment_ms", told["config"]["segment_ms"]},
             {"harvest_ratio", told["harvest"]["ratio"]},
             {"harvest_ratio_excluding_reserved", told["harvest"]["ratio_excluding_reserved"]},
             {"appetite_pct", appetite ? json(*appetite) : json(nullptr)}};
  found.update(taken(told, {"bubbles", "drain_us", "start_us", "training"}));
  found["iterations"] = told["config"]["iterations"];
  json const& gpu = told["machine"]["gpu"];
  found["power_w"] = gpu.is_null() ? json(nullptr) : gpu["power"]["draw_w"];
  return found;
}

json value_of(task_profile const& profile) {
  auto const bytes = [](std::uint64_t count) { return count != 0 ? json(count) : json(nullptr); };
  json const told = json::parse(to_json(profile.lengths.front().found));
  json found{{"task", told["config"]["tasks"][0]},
             {"machine_bytes", bytes(profile.memory.machine_bytes)},
             {"taken_bytes", told["harvest"]["taken_bytes"]},
             {"host_bytes", bytes(profile.memory.host_bytes)},
             {"alone_items_per_s", told["harvest"]["alone_items_per_s"]},
             {"alone_jobs_per_s", told["harvest"]["alone_jobs_per_s"]},
             {"lengths", json::array()}};
  for (task_profile::in_bubbles const& one : profile.lengths) found["lengths"].push_back(value_of(one));
  return found;
}

std::string cell(std::optional<double> const& value, char const* format, std::size_t width) {
  return right_aligned(value ? formatted(format, *value) : "-", width);
}

std::string name_of(task_setting const& task) {
  return task.shared_library.empty() ? task.name : task.shared_library + ":" + task.name;
}

}  // namespace

std::optional<double> appetite_percent(report const& found) {
  bool const is_known = found.training && found.training->ci95_percent && found.training->ci95_percent->low > 0 &&
                        found.harvest.ratio_excluding_reserved.value_or(0) > 0;
  return is_known ? std::optional{found.training->percent / *found.harvest.ratio_excluding_reserved} : std::nullopt;
}

std::string profiles_json(std::vector<task_profile> const& profiles) {
  json const told = json::parse(to_json(profiles.front().lengths.front().found));
  json all{{"schema", "lull.profile/2"}};
  all.update(taken(told, {"version", "executor", "time", "machine"}));
  all.update(taken(told["config"], {"reserved_groups", "schedule", "stages", "microbatches", "stage"}));
  all["profiles"] = json::array();
  for (task_profile const& each : profiles) all["profiles"].push_back(value_of(each));
  return all.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

void print_profiles(std::ostream& out, std::vector<task_profile> const& profiles) {
  for (task_profile const& each : profiles) {
    report const& of_task = each.lengths.front().found;
    out << name_of(of_task.config.tasks.front()) << ":";
    if (auto const solo = of_task.harvest.solo_items_per_s)
      out << " " << formatted("%.4g", *solo) << " items a second alone";
    if (auto const taken = of_task.harvest.taken_bytes) out << ", " << bytes_text(*taken);
    out << "\n  longest bubble   harvest    drain p50 / p99 us   training longer   appetite\n";
    for (task_profile::in_bubbles const& one : each.lengths) {
      report const& found = one.found;
      auto const harvest = found.harvest.ratio_excluding_reserved;
      auto const slowdown = found.training ? std::optional{found.training->percent} : std::nullopt;
      out << "  " << one.longest << std::string(one.longest.size() < 14 ? 14 - one.longest.size() : 1, ' ')
          << cell(harvest ? std::optional{100 * *harvest} : std::nullopt, "%.1f %%", 10)
          << cell(found.drain_us.p50, "%.1f", 11) << " / " << cell(found.drain_us.p99, "%.1f", 8)
          << cell(slowdown, "%+.2f %%", 18) << cell(appetite_percent(found), "%+.2f %%", 11) << '\n';
    }
  }
  report const& first = profiles.front().lengths.front().found;
  if (first.time == "cpu") out << cpu_time_note << '\n';
  out << "harvest: work done, as time that the task needs for it alone on the same SMs, of\n"
         "the bubbles' time; appetite: how much longer training would be at a harvest of\n"
         "100 %; '-' where nothing can be told from the noise. JSON has the intervals.\n";
}

}  // namespace lull
