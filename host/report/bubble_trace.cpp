// SPDX-License-Identifier: Apache-2.0
#include <map>

#include <lull/host/report/bubble_writers.hpp>
#include <lull/host/report/time_text.hpp>
#include <lull/host/report/trace.hpp>

namespace lull {
namespace {

/// The name of a gate's track holds the gate's figures, over all its bubbles, shown or not.
std::string track_of(site_summary const& gate) {
  std::string text = "gate " + std::to_string(gate.gate) + ": " + std::to_string(gate.bubbles) + " bubbles";
  if (gate.share) {
    text += ", idle " + percent_text(*gate.share) + " of " + time_text(static_cast<double>(gate.observed->count()));
  }
  if (gate.harvestable_of_idle)
    text += "; a harvest would bring " + percent_text(*gate.harvestable_of_idle) + " of that";
  return text;
}

std::string title_of(bubble_summary const& sum, std::size_t shown) {
  std::uint64_t const all = shown + sum.not_latest();
  std::string text = "lull: ";
  if (shown == 0) {
    text += "no bubble of known length and moment was seen";
  } else if (shown == all) {
    text += "all " + std::to_string(all) + " bubbles";
  } else {
    text += "the latest " + std::to_string(shown) + " of " + std::to_string(all) + " bubbles; the figures are of all";
  }
  return sum.settings().cpu_time ? text + ". " + std::string{cpu_time_note} : text;
}

}  // namespace

std::string bubble_trace(bubble_summary const& sum) {
  std::vector<std::pair<std::uint32_t, std::string>> const names = sum.names();
  std::vector<latest_bubble> const latest = sum.latest();
  std::map<std::uint32_t, std::string> tracks;
  for (site_summary const& gate : sum.gates()) tracks[gate.gate] = track_of(gate);
  std::vector<trace_event> events;
  for (latest_bubble const& bubble : latest) {
    auto const& [gate, site] = names[bubble.site];
    trace_event idle{tracks[gate], site, bubble.opened_ns, bubble.length_ns, {}};
    if (bubble.host_ahead) idle.args.emplace_back("host ahead", std::string{*bubble.host_ahead ? "yes" : "no"});
    events.push_back(std::move(idle));
    if (bubble.work_until_ns > bubble.work_from_ns) {
      std::int64_t const drain_ns = bubble.work_until_ns - bubble.length_ns;
      events.push_back({"gate " + std::to_string(gate) + ": side work",
                        "worker",
                        bubble.opened_ns + bubble.work_from_ns,
                        bubble.work_until_ns - bubble.work_from_ns,
                        {{"us after the close", static_cast<double>(drain_ns) / 1e3}}});
    }
  }
  return trace_json(events, {.process = title_of(sum, latest.size()),
                             .time = sum.settings().cpu_time ? "cpu" : "device",
                             .max_events = 2 * bubble_summary::max_latest,
                             .dropped = sum.not_latest()});
}

}  // namespace lull
