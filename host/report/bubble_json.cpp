// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <lull/host/report/bubble_writers.hpp>
#include <lull/host/report/step_writers.hpp>

namespace lull {
namespace {

using json = nlohmann::ordered_json;

double us(std::chrono::nanoseconds length) { return static_cast<double>(length.count()) / 1e3; }
double ms(std::chrono::nanoseconds length) { return static_cast<double>(length.count()) / 1e6; }

template <class T>
json maybe(std::optional<T> const& value) {
  return value ? json(*value) : json(nullptr);
}

json figures(site_summary const& of) {
  auto const length = [&](double value) { return of.bubbles != 0 ? json(value) : json(nullptr); };
  json text{{"bubbles", of.bubbles},
            {"unknown_length", of.unknown},
            {"p50_us", length(us(of.p50))},
            {"p99_us", length(us(of.p99))},
            {"max_us", length(us(of.longest))},
            {"total_ms", ms(of.total)},
            {"share", maybe(of.share)},
            {"host_ahead", maybe(of.host_ahead)},
            {"min_free_bytes", maybe(of.min_free_bytes)},
            {"harvest",
             {{"worth_it", of.worth_it},
              {"gpu_ms", ms(of.harvestable)},
              {"gpu_ms_per_s", of.harvestable_a_second ? json(1e3 * *of.harvestable_a_second) : json(nullptr)},
              {"share_of_idle", maybe(of.harvestable_of_idle)}}},
            {"side_work", nullptr}};
  if (of.side.bubbles != 0) {
    text["side_work"] = {{"bubbles", of.side.bubbles},
                         {"gpu_ms", ms(of.side.time)},
                         {"share_of_idle", maybe(of.side.of_idle)},
                         {"items", of.side.items},
                         {"chunks", of.side.chunks},
                         {"handed_back", of.side.handed_back},
                         {"lease_exits", of.side.lease_exits},
                         {"waited_ms", ms(of.side.waited)}};
  }
  return text;
}

json reserved(bubble_summary const& sum) {
  auto const& told = sum.reserved();
  if (!told) return nullptr;
  json const at = told->groups_added != 0 ? json(told->last_added_at) : json(nullptr);
  return {{"sms", told->processors},
          {"for_workers", told->for_workers},
          {"groups_added", told->groups_added},
          {"last_added_at", at}};
}

json spread(gpu_summary::spread const& of) {
  if (of.samples() == 0) return nullptr;
  return {{"min", of.least()}, {"mean", of.mean()}, {"max", of.most()}};
}

json gpu(bubble_summary const& sum) {
  auto const& told = sum.gpu();
  if (!told || told->samples == 0) return nullptr;
  bool const knows_cap = told->power_capped.samples() != 0;
  return {{"samples", told->samples},
          {"sm_mhz", spread(told->sm_mhz)},
          {"power_w", spread(told->power_w)},
          {"power_limit_w", maybe(told->power_limit_w)},
          {"power_capped_share", knows_cap ? json(told->power_capped.mean()) : json(nullptr)},
          {"temperature_c", spread(told->temperature_c)}};
}

json workers(bubble_summary const& sum) {
  json all = json::array();
  for (worker_summary const& each : sum.workers()) {
    all.push_back({{"name", each.name},
                   {"process", each.process},
                   {"attached", each.attached},
                   {"jobs", each.jobs},
                   {"priority", each.priority},
                   {"bubbles", each.bubbles},
                   {"gpu_ms", ms(each.time)},
                   {"items", each.items},
                   {"held_bytes", each.held_bytes}});
  }
  return all;
}

}  // namespace

std::string bubble_json(bubble_summary const& sum) {
  harvest_assumptions const& assumed = sum.settings().harvest;
  json all{
      {"schema", "lull.bubbles/2"},
      {"time", sum.settings().cpu_time ? "cpu" : "device"},
      {"percentile_error", length_histogram::relative_error},
      {"assumed", {{"worth_us", us(assumed.worth)}, {"start_us", us(assumed.start)}, {"drain_us", us(assumed.drain)}}},
      {"in_other_sites", sum.in_other_sites()},
      {"reserved", reserved(sum)},
      {"gpu", gpu(sum)},
      {"workers", workers(sum)},
      {"steps",
       sum.steps().begun != 0 || sum.steps().max_slowdown != 0 ? json::parse(step_json(sum.steps())) : json(nullptr)},
      {"gates", json::array()}};
  std::vector<site_summary> const sites = sum.sites();
  for (site_summary const& gate : sum.gates()) {
    json one{{"gate", gate.gate}, {"observed_ms", gate.observed ? json(ms(*gate.observed)) : json(nullptr)}};
    one.update(figures(gate));
    one["sites"] = json::array();
    for (site_summary const& site : sites) {
      if (site.gate != gate.gate) continue;
      json named{{"site", site.site}};
      named.update(figures(site));
      one["sites"].push_back(std::move(named));
    }
    all["gates"].push_back(std::move(one));
  }
  return all.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace lull
