// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include <lull/apps/lull/commands.hpp>
#include <lull/apps/lull/job_spec.hpp>
#include <lull/apps/lull/setting.hpp>
#include <lull/host/bubble.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/measure/schedule.hpp>
#include <lull/host/profile/machine_profiles.hpp>

namespace lull {

/// What was asked for, checked before anything is started.
struct plan_of_harvest {
  executor_kind kind;
  side_mode mode;
  schedule_shape shape;
  stage_plan stage;
  std::vector<job_spec> tasks;  // none in mode none
  std::chrono::nanoseconds min_bubble = default_min_bubble;
  std::optional<double> training_worth = {};
  std::chrono::nanoseconds rest_before_close = default_rest_before_close;
  double max_slowdown = 0;                     // as a share; 0: no bound
  std::optional<machine_profiles> profiles{};  // with a bound
};

/// Throws usage_error.
plan_of_harvest check(harvest_settings const& asked);

}  // namespace lull
