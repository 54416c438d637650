// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include <lull/apps/lull/report.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>

namespace lull {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t max_report_bytes = 16 << 20;

// A JSON object, with the path to it for messages.
class json_object {
 public:
  json_object(json const& value, std::string const& file, std::string path)
      : value_(value), file_(file), path_(std::move(path)) {
    if (!value.is_object()) fail("is not an object");
  }

  // The member, or null where it is missing.
  json const& member(char const* key) const {
    static json const null;
    auto const found = value_.find(key);
    return found == value_.end() ? null : *found;
  }

  bool has(char const* key) const { return !member(key).is_null(); }

  json_object object(char const* key) const {
    static json const empty = json::object();
    return {has(key) ? member(key) : empty, file_, path_ + "/" + key};
  }

  std::vector<json_object> objects(char const* key) const {
    std::vector<json_object> result;
    if (!has(key)) return result;
    if (!member(key).is_array()) fail(std::string{key} + " is not an array");
    for (json const& element : member(key)) {
      result.emplace_back(element, file_, path_ + "/" + key + "/" + std::to_string(result.size()));
    }
    return result;
  }

  // Keeps what the target holds where there is no value; so does the next.
  template <class Value>
  void read(char const* key, std::optional<Value>& target) const {
    if (!has(key)) return;
    json const& value = member(key);
    bool fits = false;
    if constexpr (std::is_same_v<Value, bool>) {
      fits = value.is_boolean();
    } else if constexpr (std::is_same_v<Value, std::string>) {
      fits = value.is_string();
    } else if constexpr (std::is_same_v<Value, double>) {
      fits = value.is_number();
    } else {
      fits = value.is_number_unsigned() && value.get<std::uint64_t>() <= std::numeric_limits<Value>::max();
    }
    if (!fits) fail(std::string{key} + " is " + value.dump(-1, ' ', false, json::error_handler_t::replace));
    target = value.get<Value>();
  }

  template <class Value>
  void read(char const* key, Value& target) const {
    std::optional<Value> value;
    read(key, value);
    if (value) target = *std::move(value);
  }

  json const& value() const { return value_; }

  [[noreturn]] void fail(std::string const& message) const {
    throw input_error(
        file_, 0,
        "not a report of " + std::string{report::schema} + ": " + (path_.empty() ? "" : path_ + ": ") + message);
  }

 private:
  json const& value_;
  std::string const& file_;
  std::string path_;
};

void read(json_object const& from, distribution& times) {
  from.read("n", times.n);
  from.read("p50", times.p50);
  from.read("p99", times.p99);
  from.read("p999", times.p999);
  from.read("max", times.max);
}

void read(json_object const& from, gpu_description& gpu) {
  from.read("name", gpu.name);
  from.read("driver", gpu.driver);
  json_object const clocks = from.object("clocks");
  clocks.read("sm_mhz", gpu.state.sm_mhz);
  clocks.read("sm_max_mhz", gpu.sm_max_mhz);
  clocks.read("memory_mhz", gpu.state.memory_mhz);
  clocks.read("memory_max_mhz", gpu.memory_max_mhz);
  json_object const power = from.object("power");
  power.read("draw_w", gpu.state.power_w);
  power.read("limit_w", gpu.power_limit_w);
  power.read("capped", gpu.state.power_capped);
  from.read("temperature_c", gpu.state.temperature_c);
}

void read(json_object const& from, machine_description& machine) {
  from.read("cpu", machine.cpu);
  from.read("cpus", machine.cpus);
  from.read("usable_cpus", machine.usable_cpus);
  from.read("memory_bytes", machine.memory_bytes);
  from.read("kernel", machine.kernel);
  from.read("os", machine.os);
  if (from.has("gpu")) read(from.object("gpu"), machine.gpu.emplace());
}

void read(json_object const& from, report_config& config) {
  from.read("mode", config.mode);
  from.read("schedule", config.schedule);
  from.read("stages", config.stages);
  from.read("microbatches", config.microbatches);
  from.read("stage", config.stage);
  from.read("segment_ms", config.segment_ms);
  from.read("iterations", config.iterations);
  from.read("pairs", config.pairs);
  from.read("rooms", config.rooms);
  from.read("verify", config.verify);
  for (json_object const& task : from.objects("tasks")) {
    task_setting& setting = config.tasks.emplace_back();
    task.read("name", setting.name);
    json_object const options = task.object("options");
    for (auto const& [key, value] : options.value().items()) {
      std::string text;
      options.read(key.c_str(), text);
      setting.options.emplace_back(key, std::move(text));
    }
  }
}

void read(json_object const& from, report::training_cost& training) {
  from.read("baseline_ms", training.baseline_ms);
  from.read("with_side_tasks_ms", training.with_side_tasks_ms);
  from.read("slowdown_pct", training.slowdown_pct);
  from.read("pairs", training.pairs);
  if (!from.has("ci95_pct")) return;
  json const& interval = from.member("ci95_pct");
  bool const fits = interval.is_array() && interval.size() == 2 && interval[0].is_number() && interval[1].is_number();
  if (!fits) from.fail("ci95_pct is not two numbers");
  training.ci95_pct = interval95{interval[0].get<double>(), interval[1].get<double>()};
}

report read(json_object const& from) {
  report result;
  std::string given;
  from.read("schema", given);
  if (given != report::schema) from.fail("schema is \"" + given + "\"");
  from.read("version", result.version);
  from.read("command", result.command);
  from.read("executor", result.executor);
  from.read("time", result.time);
  from.read("interrupted", result.interrupted);
  read(from.object("machine"), result.machine);
  read(from.object("config"), result.config);
  json_object const bubbles = from.object("bubbles");
  bubbles.read("count", result.bubbles.count);
  bubbles.read("harvested", result.bubbles.harvested);
  bubbles.read("skipped", result.bubbles.skipped);
  bubbles.read("total_ms", result.bubbles.total_ms);
  read(from.object("drain_us"), result.drain_us);
  read(from.object("start_us"), result.start_us);
  read(from.object("training"), result.training);
  json_object const harvest = from.object("harvest");
  harvest.read("ratio", result.harvest.ratio);
  harvest.read("ratio_without_rooms", result.harvest.ratio_without_rooms);
  harvest.read("alone_sm_mhz", result.harvest.solo_sm_mhz);
  harvest.read("bubbles_sm_mhz", result.harvest.bubbles_sm_mhz);
  json_object const lost = harvest.object("lost_us");
  for (std::size_t i = 0; i < lost_causes; ++i)
    lost.read(name_of(static_cast<lost_cause>(i)).data(), result.harvest.lost_us[i]);
  for (json_object const& from_job : from.objects("jobs")) {
    job_result& job = result.jobs.emplace_back();
    from_job.read("name", job.name);
    from_job.read("state", job.state);
    from_job.read("phases", job.phases);
    from_job.read("chunks", job.chunks);
    from_job.read("items", job.items);
    from_job.read("verified", job.verified);
    from_job.read("failures", job.failures);
  }
  return result;
}

}  // namespace

report report_from_json(std::string_view text, std::string const& file) {
  json parsed;
  try {
    parsed = json::parse(text);
  } catch (json::parse_error const& wrong) {
    auto const before = text.substr(0, std::min<std::size_t>(wrong.byte, text.size()));
    throw input_error(file, 1 + static_cast<std::uint64_t>(std::count(before.begin(), before.end(), '\n')),
                      "is not JSON");
  }
  return read(json_object(parsed, file, ""));
}

report read_report(std::filesystem::path const& path) {
  return report_from_json(read_file(path, max_report_bytes), path.string());
}

}  // namespace lull
