// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <lull/host/measure/replay.hpp>
#include <lull/host/report/trace.hpp>

namespace lull {

/// Where a replay stands in a trace. Both replays of a pair begin at the same moment, so that what side work cost is
/// seen where they end.
struct replay_place {
  std::string lane;       // begins the names of its tracks: "alone", "with side work"
  std::string side_work;  // what its workers are called
  std::uint32_t pair;
  std::int64_t begin_ns;
};

/// Adds a replay: tracks of its iterations, training segments, bubbles, side work and yields. Returns where it ends.
std::int64_t add_events(std::vector<trace_event>& into, replayed const& done, stage_plan const& plan,
                        replay_place const& place);

}  // namespace lull
