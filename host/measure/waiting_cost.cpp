// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/waiting_cost.hpp>

#include <algorithm>
#include <map>

#include <lull/host/measure/statistics.hpp>

namespace lull {
namespace {

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

}  // namespace lull
