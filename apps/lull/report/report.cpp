// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/report/report.hpp>

#include <nlohmann/json.hpp>

#include <lull/host/io/atomic_file.hpp>
#include <lull/host/report/step_writers.hpp>

namespace lull {
namespace {

using json = nlohmann::ordered_json;

template <class Value>
json value_of(std::optional<Value> const& value) {
  return value ? json(*value) : json(nullptr);  // the library writes NaN and infinities as null
}

json value_of(distribution const& times) {
  return {{"n", times.n},
          {"p50", value_of(times.p50)},
          {"p99", value_of(times.p99)},
          {"p999", value_of(times.p999)},
          {"max", value_of(times.max)}};
}

json value_of(std::optional<slowdown> const& training, std::optional<double> host_behind) {
  auto const known = [&](auto slowdown::*member) { return training ? json(*training.*member) : json(nullptr); };
  json interval;
  if (training && training->ci95_percent) interval = {training->ci95_percent->low, training->ci95_percent->high};
  return {{"baseline_ms", known(&slowdown::baseline)},
          {"with_side_tasks_ms", known(&slowdown::with_side_tasks)},
          {"slowdown_pct", known(&slowdown::percent)},
          {"pairs", known(&slowdown::pairs)},
          {"ci95_pct", interval},
          {"host_behind_pct", host_behind ? json(100 * *host_behind) : json(nullptr)}};
}

json value_of(gpu_description const& gpu) {
  return {{"name", value_of(gpu.name)},
          {"driver", value_of(gpu.driver)},
          {"clocks",
           {{"sm_mhz", value_of(gpu.state.sm_mhz)},
            {"sm_max_mhz", value_of(gpu.sm_max_mhz)},
            {"memory_mhz", value_of(gpu.state.memory_mhz)},
            {"memory_max_mhz", value_of(gpu.memory_max_mhz)}}},
          {"power",
           {{"draw_w", value_of(gpu.state.power_w)},
            {"limit_w", value_of(gpu.power_limit_w)},
            {"capped", value_of(gpu.state.power_capped)}}},
          {"temperature_c", value_of(gpu.state.temperature_c)}};
}

json value_of(machine_description const& machine) {
  return {{"cpu", value_of(machine.cpu)},
          {"cpus", value_of(machine.cpus)},
          {"usable_cpus", value_of(machine.usable_cpus)},
          {"memory_bytes", value_of(machine.memory_bytes)},
          {"kernel", value_of(machine.kernel)},
          {"os", value_of(machine.os)},
          {"gpu", machine.gpu ? value_of(*machine.gpu) : json(nullptr)}};
}

json value_of(report_config const& config) {
  json tasks = json::array();
  for (task_setting const& task : config.tasks) {
    json options = json::object();
    for (auto const& [key, value] : task.options) options[key] = value;
    tasks.push_back({{"name", task.name},
                     {"options", std::move(options)},
                     {"library", task.shared_library.empty() ? json(nullptr) : json(task.shared_library)}});
  }
  return {{"mode", value_of(config.mode)},
          {"schedule", value_of(config.schedule)},
          {"stages", value_of(config.stages)},
          {"microbatches", value_of(config.microbatches)},
          {"stage", value_of(config.stage)},
          {"segment_ms", value_of(config.segment_ms)},
          {"min_bubble_us", value_of(config.min_bubble_us)},
          {"rest_before_close_us", value_of(config.rest_before_close_us)},
          {"iterations", value_of(config.iterations)},
          {"pairs", value_of(config.pairs)},
          {"reserved_groups", value_of(config.reserved_groups)},
          {"verify", config.verify},
          {"tasks", std::move(tasks)}};
}

json value_of(harvest_gain const& harvest) {
  json lost = json::object();
  for (std::size_t i = 0; i < lost_causes; ++i)
    lost[std::string{name_of(static_cast<lost_cause>(i))}] = value_of(harvest.lost_us[i]);
  return {{"ratio", value_of(harvest.ratio)},
          {"ratio_excluding_reserved", value_of(harvest.ratio_excluding_reserved)},
          {"alone_items_per_s", value_of(harvest.solo_items_per_s)},
          {"alone_jobs_per_s", value_of(harvest.solo_jobs_per_s)},
          {"taken_bytes", value_of(harvest.taken_bytes)},
          {"alone_sm_mhz", value_of(harvest.solo_sm_mhz)},
          {"bubbles_sm_mhz", value_of(harvest.bubbles_sm_mhz)},
          {"lost_us", std::move(lost)}};
}

json value_of(report const& result) {
  json jobs = json::array();
  for (job_result const& job : result.jobs) {
    json figures = json::object();
    for (task_figure const& each : job.figures) figures[each.name] = each.value;
    jobs.push_back({{"name", job.name},
                    {"state", job.state},
                    {"phases", value_of(job.phases)},
                    {"chunks", value_of(job.chunks)},
                    {"items", value_of(job.items)},
                    {"verified", value_of(job.verified)},
                    {"failures", value_of(job.failures)},
                    {"figures", std::move(figures)},
                    {"notes", job.notes}});
  }
  bubble_counts const& bubbles = result.bubbles;
  return {{"schema", report::schema},
          {"version", result.version},
          {"command", result.command},
          {"executor", result.executor},
          {"time", result.time},
          {"interrupted", result.interrupted},
          {"machine", value_of(result.machine)},
          {"config", value_of(result.config)},
          {"bubbles",
           {{"count", value_of(bubbles.count)},
            {"harvested", value_of(bubbles.harvested)},
            {"skipped", value_of(bubbles.skipped)},
            {"total_ms", value_of(bubbles.total_ms)}}},
          {"drain_us", value_of(result.drain_us)},
          {"start_us", value_of(result.start_us)},
          {"training", value_of(result.training, result.host_behind)},
          {"steps", result.steps.begun != 0 || result.steps.max_slowdown != 0 ? json::parse(step_json(result.steps))
                                                                              : json(nullptr)},
          {"harvest", value_of(result.harvest)},
          {"jobs", std::move(jobs)},
          {"run", {{"seconds", value_of(result.run.seconds)}, {"items_per_s", value_of(result.run.items_per_s)}}}};
}

}  // namespace

std::string to_json(report const& result) {
  return value_of(result).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

void write_report(std::filesystem::path const& path, report const& result) { write_file(path, to_json(result)); }

}  // namespace lull
