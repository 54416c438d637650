// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lull/host/measure/waiting_cost.hpp>

namespace lull {

enum class health { good, worth_a_look, stops };

/// What `lull doctor` says of one thing.
struct finding {
  std::string what;
  health state;
  std::string found;
  std::string to_do;                                         // what it means, or what to do; empty: nothing
  std::vector<std::pair<std::string, double>> figures = {};  // in JSON alone; names end in their unit
};

/// What pending waits cost. `connections`: CUDA_DEVICE_MAX_CONNECTIONS; empty: it is not set.
finding check_waiting(waiting_cost const& cost, std::string const& connections);

bool any_stops(std::span<finding const> all);
/// A table, with a last line that says whether anything stops harvesting.
std::string findings_text(std::span<finding const> all);
/// The schema lull.doctor/1. Figures become members of their finding.
std::string findings_json(std::span<finding const> all, std::string_view version);

}  // namespace lull
