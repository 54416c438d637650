// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/finding.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include <nlohmann/json.hpp>

#include <lull/host/report/time_text.hpp>

namespace lull {

namespace {

constexpr std::array<std::string_view, 3> names{"ok", "look", "stop"};

std::string_view name_of(health state) { return names[static_cast<std::size_t>(state)]; }

constexpr int default_connections = 8;  // of CUDA, which takes 1 to 32

std::optional<int> count_of(std::string const& connections) {
  if (connections.empty()) return default_connections;
  int count = 0;
  char const* const end = connections.data() + connections.size();
  auto const [stop, problem] = std::from_chars(connections.data(), end, count);
  return problem == std::errc{} && stop == end && count >= 1 && count <= 32 ? std::optional{count} : std::nullopt;
}

/// Two digits after the point, and no "-0.00".
std::string digits(double value) { return formatted("%.2f", std::round(value * 100) / 100 + 0.0); }

std::string text_of(waiting_range const& range) {
  return digits(range.min_us) + " to " + digits(range.max_us) + " us later (median " + digits(range.median_us) + ")";
}

void add(finding& to, std::string const& name, waiting_range const& range) {
  to.figures.emplace_back(name + "_least_us", range.min_us);
  to.figures.emplace_back(name + "_median_us", range.median_us);
  to.figures.emplace_back(name + "_greatest_us", range.max_us);
}

}  // namespace

finding check_waiting(waiting_cost const& cost, std::string const& connections) {
  std::string const what = "pending waits";
  if (!cost.why_not.empty()) return {what, health::worth_a_look, cost.why_not, ""};
  double const worst_us = std::max({cost.one_wait.max_us, cost.two_waits.max_us, 0.0});
  std::size_t const streams = std::min(cost.one_wait.streams, cost.two_waits.streams);
  std::optional<int> const count = count_of(connections);
  std::string const found =
      "with one wait pending a kernel starts " + text_of(cost.one_wait) + ", with a second one, such as NCCL's, " +
      text_of(cost.two_waits) + "; " + std::to_string(streams) + " streams, " +
      (count ? std::to_string(*count) + " connections" : "CUDA_DEVICE_MAX_CONNECTIONS=" + connections);
  // What one kernel takes in us 1,000 take in ms.
  std::string const meaning =
      "a step of 1,000 short kernels takes up to " + digits(worst_us) +
      " ms longer if a worker waits all that time; Lull enqueues workers shortly before their bubbles, and "
      "armed_ahead sets how long before";
  finding made{what, worst_us * 1e3 > slow_wait_ns ? health::worth_a_look : health::good, found, meaning};
  if (count) made.figures.emplace_back("connections", *count);
  made.figures.emplace_back("streams", static_cast<double>(streams));
  made.figures.emplace_back("base_us", cost.base_us);
  add(made, "one_wait", cost.one_wait);
  add(made, "two_waits", cost.two_waits);
  return made;
}

bool any_stops(std::span<finding const> all) {
  return std::any_of(all.begin(), all.end(), [](finding const& each) { return each.state == health::stops; });
}

std::string findings_text(std::span<finding const> all) {
  std::ostringstream out;
  for (finding const& each : all) {
    std::string_view const state = name_of(each.state);
    out << state << std::string(6 - state.size(), ' ') << each.what << std::string(15 - each.what.size(), ' ')
        << each.found << '\n';
    if (!each.to_do.empty()) out << std::string(21, ' ') << "-> " << each.to_do << '\n';
  }
  out << (any_stops(all) ? "Lull cannot harvest on a GPU here, see above; the threads executor runs anywhere.\n"
                         : "Lull can harvest here.\n");
  return out.str();
}

std::string findings_json(std::span<finding const> all, std::string_view version) {
  auto list = nlohmann::ordered_json::array();
  for (finding const& each : all) {
    nlohmann::ordered_json one{
        {"name", each.what}, {"state", name_of(each.state)}, {"found", each.found}, {"to_do", each.to_do}};
    for (auto const& [name, value] : each.figures) one[name] = value;
    list.push_back(std::move(one));
  }
  nlohmann::ordered_json const whole{
      {"schema", "lull.doctor/1"}, {"version", version}, {"harvests", !any_stops(all)}, {"findings", list}};
  return whole.dump(2) + '\n';
}

}  // namespace lull
