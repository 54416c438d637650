// SPDX-License-Identifier: Apache-2.0
#include <lull/host/report/trace.hpp>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>

namespace lull {
namespace {

constexpr int process_id = 1;

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Times are µs with three decimals: a double would lose ns in a trace of hours.
std::string microseconds(std::int64_t ns) {
  std::string const fraction = std::to_string(1000 + ns % 1000).substr(1);
  return std::to_string(ns / 1000) + "." + fraction;
}

std::string text_of(trace_event::argument const& value) {
  if (auto const* const text = std::get_if<std::string>(&value)) return json_string(*text);
  if (auto const* const integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  return nlohmann::json(std::get<double>(value)).dump();
}

std::string text_of(trace_event const& event, std::int64_t origin_ns, std::size_t track) {
  std::string text = "{\"pid\":" + std::to_string(process_id) + ",\"tid\":" + std::to_string(track) +
                     ",\"name\":" + json_string(event.name) + ",\"ts\":" + microseconds(event.start_ns - origin_ns);
  if (event.duration_ns == 0) {
    text += ",\"ph\":\"i\",\"s\":\"t\"";
  } else {
    text += ",\"ph\":\"X\",\"dur\":" + microseconds(event.duration_ns);
  }
  if (!event.args.empty()) {
    text += ",\"args\":{";
    for (auto const& [key, value] : event.args) {
      text += (text.back() == '{' ? "" : ",") + json_string(key) + ":" + text_of(value);
    }
    text += "}";
  }
  return text + "}";
}

std::string metadata(std::string_view name, std::size_t track, std::string_view argument, std::string const& value) {
  return "{\"pid\":" + std::to_string(process_id) + ",\"tid\":" + std::to_string(track) +
         ",\"ph\":\"M\",\"name\":" + json_string(name) + ",\"args\":{" + json_string(argument) + ":" + value + "}}";
}

}  // namespace

std::string trace_json(std::span<trace_event const> events, trace_settings const& settings) {
  std::map<std::string_view, std::size_t> tracks;
  std::vector<std::string_view> track_names;
  for (trace_event const& event : events) {
    if (event.duration_ns < 0) throw usage_error("a trace event, \"" + event.name + "\", ends before it starts");
    if (tracks.emplace(event.track, tracks.size() + 1).second) track_names.push_back(event.track);
  }
  std::vector<std::size_t> order(events.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return events[a].start_ns < events[b].start_ns; });
  std::size_t const kept = std::min<std::uint64_t>(order.size(), settings.max_events);
  std::uint64_t const dropped = settings.dropped + (order.size() - kept);

  std::string text = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"time\":" + json_string(settings.time) +
                     ",\"dropped_events\":" + std::to_string(dropped) + "},\n\"traceEvents\":[\n" +
                     metadata("process_name", 0, "name", json_string(settings.process));
  for (std::size_t i = 0; i < track_names.size(); ++i) {
    text += ",\n" + metadata("thread_name", i + 1, "name", json_string(track_names[i]));
    text += ",\n" + metadata("thread_sort_index", i + 1, "sort_index", std::to_string(i + 1));
  }
  for (std::size_t i = 0; i < kept; ++i) {
    trace_event const& event = events[order[i]];
    text += ",\n" + text_of(event, events[order[0]].start_ns, tracks[event.track]);
  }
  return text + "\n]}\n";
}

std::string instead_of_svg(std::filesystem::path path) {
  path.replace_extension(path.stem().extension() == ".trace" ? ".json" : ".trace.json");
  return "Lull draws no SVG timelines since 0.2; write '" + path.string() + "' and open it at https://ui.perfetto.dev";
}

void write_trace(std::filesystem::path const& path, std::span<trace_event const> events,
                 trace_settings const& settings) {
  write_file(path, trace_json(events, settings));
}

}  // namespace lull
