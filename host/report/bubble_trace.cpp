// SPDX-License-Identifier: Apache-2.0
#include <lull/host/report/bubble_writers.hpp>
#include <lull/host/report/trace.hpp>

namespace lull {

std::string bubble_trace(bubble_summary const& sum) {
  std::vector<std::pair<std::uint32_t, std::string>> const names = sum.names();
  std::vector<trace_event> events;
  for (latest_bubble const& bubble : sum.latest()) {
    auto const& [gate, site] = names[bubble.site];
    std::string const track = "gate " + std::to_string(gate);
    trace_event idle{track, site, bubble.opened_ns, bubble.length_ns, {}};
    if (bubble.host_ahead) idle.args.emplace_back("host ahead", std::string{*bubble.host_ahead ? "yes" : "no"});
    events.push_back(std::move(idle));
    if (bubble.work_until_ns > bubble.work_from_ns) {
      std::int64_t const drain_ns = bubble.work_until_ns - bubble.length_ns;
      events.push_back({track + ": workers",
                        "worker",
                        bubble.opened_ns + bubble.work_from_ns,
                        bubble.work_until_ns - bubble.work_from_ns,
                        {{"us after the close", static_cast<double>(drain_ns) / 1e3}}});
    }
  }
  return trace_json(events, {.process = "lull: bubbles",
                             .time = sum.settings().cpu_time ? "cpu" : "device",
                             .max_events = 2 * bubble_summary::max_latest,
                             .dropped = sum.not_latest()});
}

}  // namespace lull
