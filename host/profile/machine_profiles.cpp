// SPDX-License-Identifier: Apache-2.0
#include <lull/host/profile/machine_profiles.hpp>

#include <algorithm>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include <lull/host/error.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/io/wrapped.hpp>
#include <lull/host/profile/read_json.hpp>

namespace lull {
namespace {

using detail::count;
using detail::list;
using detail::maybe;
using detail::number;
using detail::read_json;

using json = nlohmann::json;
using options = std::map<std::string, std::string>;

constexpr double any = 1e15;
constexpr std::size_t max_label = 200;

work_profile::in_bubbles length_of(json const& one) {
  work_profile::in_bubbles found{.longest = parse_duration(one.at("longest_bubble").get<std::string>()),
                                 .harvest = number(one, "harvest_ratio", -any, any)};
  if (found.longest.count() == 0) throw usage_error{"longest_bubble is 0"};
  json const& training = one.at("training");
  auto const percent = training.is_null() ? std::nullopt : number(training, "slowdown_pct", -100, any);
  if (!percent || training.at("ci95_pct").is_null()) return found;
  json const& ends = list(training, "ci95_pct");
  slowdown_interval const of{ends.at(0).get<double>() / 100, *percent / 100, ends.at(1).get<double>() / 100};
  if (!(of.low <= of.estimate && of.estimate <= of.high && of.high <= any))
    throw usage_error{"ci95_pct does not lie around slowdown_pct"};
  found.slowdown = of;
  return found;
}

work_profile work_of(json const& one) {
  work_profile found{.task = one.at("task").at("name").get<std::string>(),
                     .label = {},
                     .machine_bytes = std::max(count(one, "taken_bytes"), count(one, "machine_bytes")),
                     .items_per_s = number(one, "alone_items_per_s", 0, any),
                     .jobs_per_s = number(one, "alone_jobs_per_s", 0, any)};
  for (json const& length : list(one, "lengths")) found.lengths.push_back(length_of(length));
  if (found.lengths.empty()) throw usage_error{"a profile has no lengths"};
  std::stable_sort(found.lengths.begin(), found.lengths.end(),
                   [](auto const& a, auto const& b) { return a.longest < b.longest; });
  return found;
}

/// Labels several profiles of a task by the options in which they differ.
void label(std::vector<work_profile>& works, std::vector<options> const& of) {
  for (std::size_t i = 0; i < works.size(); ++i) {
    works[i].label = works[i].task;
    char between = ':';
    for (auto const& [key, value] : of[i]) {
      bool differs = false;
      for (std::size_t j = 0; j < works.size(); ++j) {
        auto const others = of[j].find(key);
        differs = differs || (works[j].task == works[i].task && (others == of[j].end() || others->second != value));
      }
      if (!differs) continue;
      works[i].label += between + key + "=" + value;
      between = ',';
    }
  }
}

}  // namespace

machine_profiles read_profiles(std::string const& path) {
  return read_json(path, "lull.profile/2", [](json const& all) {
    json const& gpu = all.at("machine").at("gpu");
    machine_profiles found{.version = all.at("version").get<std::string>(),
                           .executor = all.at("executor").get<std::string>(),
                           .gpu = gpu.is_null() ? "" : maybe<std::string>(gpu, "name").value_or(""),
                           .works = {}};
    std::vector<options> of;
    for (json const& one : list(all, "profiles")) {
      found.works.push_back(work_of(one));
      of.push_back(one.at("task").at("options").get<options>());
    }
    if (found.works.empty()) throw usage_error{"there is no profile in it"};
    label(found.works, of);
    for (work_profile& each : found.works) each.label = shortened(std::move(each.label), max_label);
    return found;
  });
}

std::optional<double> slowdown_to_assume(work_profile const& of) {
  std::optional<double> most;
  for (auto const& length : of.lengths) {
    if (!length.slowdown) continue;
    auto const& [low, estimate, high] = *length.slowdown;
    bool const is_told = high <= std::max(2 * estimate, 0.02);
    if (is_told || low > 0) most = std::max(most.value_or(0), std::max(is_told ? high : low, 0.0));
  }
  return most;
}

std::string assume_slowdown(runtime& side, machine_profiles const& known) {
  if (known.version != LULL_VERSION) {
    return "the profiles are of Lull " + known.version + ", and this is " LULL_VERSION "; profile the tasks again";
  }
  bool const on_gpu = executor_of(side).kind() == executor_kind::cuda;
  std::string const here = on_gpu ? executor_of(side).place().gpu : "";
  if (known.executor != (on_gpu ? "cuda" : "threads") || known.gpu != here) {
    auto const name = [](std::string const& executor, std::string const& gpu) {
      return executor == "threads" ? "CPU threads" : gpu.empty() ? "a GPU whose name is not known" : "an " + gpu;
    };
    return "the profiles are of " + name(known.executor, known.gpu) + ", and this is " +
           name(on_gpu ? "cuda" : "threads", here) + "; profile the tasks here";
  }
  std::map<std::string, double> most;
  for (work_profile const& each : known.works) {
    if (auto const slowdown = slowdown_to_assume(each)) most[each.task] = std::max(most[each.task], *slowdown);
  }
  try {
    for (auto const& [name, slowdown] : most) side.steps().assume_slowdown(name, slowdown);
  } catch (limit_error const& wrong) {
    return wrong.what();
  }
  return {};
}

}  // namespace lull
