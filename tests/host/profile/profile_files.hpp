// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace lull {

using json = nlohmann::ordered_json;

/// Returns a length as `lull profile` writes it.
inline json measured(std::string const& longest, double harvest, std::optional<std::vector<double>> const& interval_pct,
                     double slowdown_pct = 0) {
  json one{{"longest_bubble", longest}, {"harvest_ratio", harvest}, {"training", nullptr}};
  if (interval_pct) one["training"] = {{"slowdown_pct", slowdown_pct}, {"ci95_pct", *interval_pct}};
  return one;
}

/// Returns a task, likewise.
inline json profiled(std::string const& name, std::string const& batch, std::vector<json> lengths) {
  return {{"task", {{"name", name}, {"options", {{"batch", batch}, {"hidden", "64"}}}, {"library", nullptr}}},
          {"machine_bytes", 3 << 20},
          {"alone_items_per_s", 1000},
          {"alone_jobs_per_s", nullptr},
          {"lengths", std::move(lengths)}};
}

/// Returns a file of tasks, likewise.
inline json profiles_of(std::vector<json> tasks, std::string const& version = "0.2.0") {
  return {{"schema", "lull.profile/2"},
          {"version", version},
          {"executor", "threads"},
          {"machine", {{"gpu", nullptr}}},
          {"profiles", std::move(tasks)}};
}

}  // namespace lull
