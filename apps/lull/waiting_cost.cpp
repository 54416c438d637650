// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/waiting_cost.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include <lull/apps/lull/statistics.hpp>
#include <lull/host/report/time_text.hpp>

namespace lull {
namespace {

constexpr int default_connections = 8;  // of CUDA, which takes 1 to 32

std::optional<int> count_of(std::string const& connections) {
  if (connections.empty()) return default_connections;
  int count = 0;
  char const* const end = connections.data() + connections.size();
  auto const [stop, problem] = std::from_chars(connections.data(), end, count);
  return problem == std::errc{} && stop == end && count >= 1 && count <= 32 ? std::optional{count} : std::nullopt;
}

waiting_range range_of(std::span<waiting_row const> rows, int waits) {
  std::map<std::size_t, std::vector<double>> more_us;  // by stream
  for (waiting_row const& row : rows) {
    if (row.waits == waits) more_us[row.stream].push_back((row.with_ns - row.base_ns) / 1e3);
  }
  if (more_us.empty()) return {};
  std::vector<double> medians;
  for (auto const& [stream, values] : more_us) medians.push_back(median(values));
  auto const [least, greatest] = std::minmax_element(medians.begin(), medians.end());
  return {.streams = medians.size(), .min_us = *least, .median_us = median(medians), .max_us = *greatest};
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

waiting_cost summarise(std::span<waiting_row const> rows) {
  waiting_cost cost{.why_not = {}, .base_us = 0, .one_wait = range_of(rows, 1), .two_waits = range_of(rows, 2)};
  if (cost.one_wait.streams == 0 || cost.two_waits.streams == 0) {
    cost.why_not = "not measured: the device was too busy to measure within a second";
    return cost;
  }
  std::vector<double> bases;
  for (waiting_row const& row : rows) bases.push_back(row.base_ns / 1e3);
  cost.base_us = median(bases);
  return cost;
}

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

}  // namespace lull
