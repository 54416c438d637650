// SPDX-License-Identifier: Apache-2.0
#include <lull/host/profile/choice.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include <lull/host/error.hpp>
#include <lull/host/profile/read_json.hpp>

namespace lull {
namespace {

using detail::count;
using detail::list;
using detail::number;
using detail::read_json;

using json = nlohmann::json;
using in_bubbles = work_profile::in_bubbles;

constexpr double max_us = 1e12;  // a bubble

void note_free(idle_time& into, std::optional<std::uint64_t> bytes) {
  if (bytes) into.min_free_bytes = std::min(into.min_free_bytes.value_or(*bytes), *bytes);
}

/// Returns the harvest as a share of the time of bubbles of this length.
double harvest_in(std::vector<in_bubbles> const& known, std::chrono::nanoseconds length) {
  auto const ns = [](std::chrono::nanoseconds of) { return static_cast<double>(of.count()); };
  auto const share = [](in_bubbles const& of) { return std::clamp(of.harvest.value_or(0), 0.0, 1.0); };
  auto const longer =
      std::find_if(known.begin(), known.end(), [&](in_bubbles const& of) { return of.longest >= length; });
  if (longer == known.end()) return share(known.back());
  if (longer == known.begin())
    return std::max(0.0, 1 - (1 - share(*longer)) * ns(longer->longest) / std::max(ns(length), 1.0));
  auto const shorter = std::prev(longer);
  double const way = std::log(ns(length) / ns(shorter->longest)) / std::log(ns(longer->longest) / ns(shorter->longest));
  return share(*shorter) + way * (share(*longer) - share(*shorter));
}

/// Returns the share of steps in which side work may run.
double allowed(std::optional<double> slowdown, double max_slowdown) {
  return max_slowdown != 0 && slowdown.value_or(0) > max_slowdown ? max_slowdown / *slowdown : 1;
}

/// Returns the measure by which the prospects are compared.
std::optional<double> prospect::*measure_of(machine_profiles const& known) {
  auto const has = [&](auto which) {
    return std::all_of(known.works.begin(), known.works.end(), [&](auto const& of) { return (of.*which).has_value(); });
  };
  if (has(&work_profile::jobs_per_s)) return &prospect::jobs_per_s;
  if (!has(&work_profile::items_per_s))
    throw usage_error{"the profile of a task does not say how fast it is alone: profile it again"};
  for (work_profile const& each : known.works) {
    if (each.task != known.works.front().task) {
      throw usage_error{"the tasks " + known.works.front().label + " and " + each.label +
                        " cannot be compared: an item is not the same in both, and it is not known how many jobs a "
                        "second they do; choose among options of one task"};
    }
  }
  return &prospect::items_per_s;
}

}  // namespace

idle_time idle_time_of(bubble_summary const& seen) {
  idle_time found;
  for (site_summary const& each : seen.sites()) {
    if (each.bubbles != 0 && each.share) found.sites.push_back({each.p50, *each.share});
    note_free(found, each.min_free_bytes);
  }
  return found;
}

idle_time read_idle_time(std::string const& path) {
  return read_json(path, "lull.bubbles/2", [](json const& all) {
    idle_time found;
    for (json const& gate : list(all, "gates")) {
      for (json const& one : list(gate, "sites")) {
        auto const us = number(one, "p50_us", 0, max_us);
        auto const share = number(one, "share", 0, 1.01);  // 1.01 allows for rounding
        if (us && share) found.sites.push_back({std::chrono::nanoseconds{std::llround(1e3 * *us)}, *share});
        note_free(found, count(one, "min_free_bytes"));
      }
    }
    return found;
  });
}

std::vector<prospect> prospects_of(machine_profiles const& known, idle_time const& idle, choice_limits const& within) {
  auto const measure = measure_of(known);
  double idle_share = 0;
  for (idle_time::site const& each : idle.sites) idle_share += each.share;
  if (idle_share <= 0)
    throw usage_error{"there is no bubble whose length and moment are known: observe the trainer for longer"};
  std::vector<prospect> found;
  for (std::size_t i = 0; i < known.works.size(); ++i) {
    work_profile const& work = known.works[i];
    std::optional<double> const slowdown = slowdown_to_assume(work);
    double used = 0;  // of the trainer's time
    for (idle_time::site const& each : idle.sites) used += each.share * harvest_in(work.lengths, each.typical);
    used = std::min(used, 1.0) * allowed(slowdown, within.max_slowdown);
    prospect one{.work = i, .slowdown = slowdown, .harvest = used / idle_share};
    if (work.items_per_s) one.items_per_s = used * *work.items_per_s;
    if (work.jobs_per_s) one.jobs_per_s = used * *work.jobs_per_s;
    if (work.machine_bytes && idle.min_free_bytes) {
      std::uint64_t const free = *idle.min_free_bytes - std::min(*idle.min_free_bytes, within.reserve_bytes);
      one.fits = *work.machine_bytes <= free - free / 16;  // as a task's own check does
    }
    found.push_back(one);
  }
  std::stable_sort(found.begin(), found.end(), [&](prospect const& a, prospect const& b) {
    return std::pair{a.fits, (a.*measure).value_or(0)} > std::pair{b.fits, (b.*measure).value_or(0)};
  });
  return found;
}

}  // namespace lull
