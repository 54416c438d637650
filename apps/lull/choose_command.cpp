// SPDX-License-Identifier: Apache-2.0
#include <ostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/setting.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/host_memory.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/io/wrapped.hpp>
#include <lull/host/profile/choice.hpp>
#include <lull/host/report/time_text.hpp>

namespace lull {
namespace {

constexpr std::size_t width = 80;

choice_limits limits_of(choose_settings const& asked) {
  choice_limits made;
  try {
    made.reserve_bytes = parse_size(asked.reserve);
  } catch (usage_error const& wrong) {
    throw usage_error{std::string{"--reserve: "} + wrong.what()};
  }
  if (asked.max_slowdown) made.max_slowdown = share_of(*asked.max_slowdown, "--max-slowdown");
  return made;
}

std::string json_of(machine_profiles const& known, idle_time const& idle, std::vector<prospect> const& found) {
  using json = nlohmann::ordered_json;
  auto const maybe = [](auto const& value) { return value ? json(*value) : json(nullptr); };
  json all{{"schema", "lull.choice/1"}, {"min_free_bytes", maybe(idle.min_free_bytes)}, {"tasks", json::array()}};
  for (prospect const& each : found) {
    work_profile const& work = known.works[each.work];
    all["tasks"].push_back({{"task", work.label},
                            {"profile", each.work},
                            {"fits", each.fits},
                            {"machine_bytes", maybe(work.machine_bytes)},
                            {"slowdown_pct", each.slowdown ? json(100 * *each.slowdown) : json(nullptr)},
                            {"harvest_ratio", each.harvest},
                            {"items_per_s", maybe(each.items_per_s)},
                            {"jobs_per_s", maybe(each.jobs_per_s)}});
  }
  return all.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

void print(std::ostream& out, machine_profiles const& known, idle_time const& idle,
           std::vector<prospect> const& found) {
  out << right_aligned("harvest", 9) << right_aligned("items/s", 12) << right_aligned("a job in", 12)
      << right_aligned("memory", 12) << right_aligned("slowdown", 10) << "  task\n";
  for (prospect const& each : found) {
    work_profile const& work = known.works[each.work];
    out << right_aligned(percent_text(each.harvest), 9)
        << right_aligned(each.items_per_s ? formatted("%.4g", *each.items_per_s) : "-", 12)
        << right_aligned(each.jobs_per_s.value_or(0) > 0 ? formatted("%.4g s", 1 / *each.jobs_per_s) : "-", 12)
        << right_aligned(work.machine_bytes ? bytes_text(*work.machine_bytes) : "-", 12)
        << right_aligned(each.slowdown ? percent_text(*each.slowdown) : "-", 10) << "  " << work.label
        << (each.fits ? "" : " (does not fit)") << '\n';
  }
  out << wrapped(idle.min_free_bytes ? "The device had " + bytes_text(*idle.min_free_bytes) + " free at the least."
                                     : "How much memory the device had free is not known.",
                 width)
      << wrapped(found.front().fits ? "Best: " + known.works[found.front().work].label
                                    : "None fits: take a smaller one, or give it more memory.",
                 width);
}

}  // namespace

exit_code choose_command(choose_settings const& asked, std::ostream& out) {
  choice_limits const within = limits_of(asked);
  machine_profiles const known = read_profiles(asked.profiles);
  idle_time const idle = read_idle_time(asked.bubbles);
  std::vector<prospect> const found = prospects_of(known, idle, within);
  if (asked.json) {
    out << json_of(known, idle, found);
  } else {
    print(out, known, idle, found);
  }
  return found.front().fits ? exit_code::done : exit_code::failed;
}

}  // namespace lull
