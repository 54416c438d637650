// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <nlohmann/json.hpp>

#include <lull/bench/side_work/endless_work.hpp>
#include <lull/bench/step/step_trainer.hpp>
#include <lull/host/runtime.hpp>

namespace lull::bench {

struct scope_settings {
  work_kind task = work_kind::compute;
  work_settings work;
  std::optional<std::chrono::nanoseconds> armed_ahead;  // none: Lull chooses
  launch_time launch = launch_time::at_close;
  int group = 4;       // steps
  double seconds = 3;  // of pairs; six of them are measured in any case
  std::uint64_t seed = 1;
};

/// What one runtime with one job costs a step, and what it brings.
struct scope_figures {
  double step_ms_none = 0;    // geometric means over the groups
  double step_ms_worker = 0;  // …
  double slowdown_percent = 0;
  double kernel_ns_none = 0;      // from kernel to kernel, mean over all segments
  double kernel_ns_worker = 0;    // …
  std::optional<double> harvest;  // of what the SMs that workers may use do in as much time without training
  std::optional<double> net;      // … of what all SMs would
  std::uint64_t lease_exits = 0;  // blocks
  nlohmann::ordered_json all;     // these and everything else
};

/// Makes a runtime, submits, warms up, measures in pairs of groups with and without (ABBA), then the job alone in long
/// bubbles, and takes all down again. Blocks.
scope_figures measure_scope(step_trainer& trainer, scope_settings const& with);

}  // namespace lull::bench
