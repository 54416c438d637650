// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <lull/host/step_report.hpp>

namespace lull {

/// Returns what a bound on slowdown did, or the cap, in one sentence without a full stop; empty without either, and if
/// no step was marked under a cap.
std::string bound_text(step_report const& steps);

/// Returns an object: "marked", "timed", "mean_ms", "max_slowdown_pct", "slowdown_cap_pct", "withheld", "halved",
/// "chance", "slowdown_pct", "ci95_pct", "noise_pct", "steps_to_know". An unknown value is null, never 0.
std::string step_json(step_report const& steps);

}  // namespace lull
