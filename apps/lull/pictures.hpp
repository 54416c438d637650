// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <lull/apps/lull/replay.hpp>
#include <lull/apps/lull/timeline.hpp>
#include <lull/host/report/trace.hpp>

namespace lull {

/// The first iterations of a replay as a lane of the picture.
timeline_lane lane_of(replayed const& done, stage_plan const& plan, std::string const& task, std::uint32_t iterations);

/// A replay as events: training segments, bubbles, workers and yields.
void add_events(std::vector<trace_event>& into, replayed const& done, stage_plan const& plan);

}  // namespace lull
