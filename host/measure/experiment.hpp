// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <lull/host/measure/replay.hpp>
#include <lull/host/runtime.hpp>

namespace lull {

/// One of the ways to train that an experiment compares: alone, with side work in bubbles, with side work always on.
struct treatment {
  std::string name;                     // begins the names of its tracks in a trace
  runtime* side = nullptr;              // whose bubbles the gaps are; null: nobody's
  bool marks_steps = false;             // each iteration is a step of `side`
  std::function<void()> begin = [] {};  // before each of its replays
  std::function<void()> end = [] {};    // after it
};

/// Replays the plan once under each treatment, in the turns of that round. Returns the replays in the order of the
/// treatments. `stop` is asked before each gap; `before` is called before each replay.
std::vector<replayed> replay_by_turns(stage_trainer& on, stage_plan const& plan, std::uint32_t iterations,
                                      std::span<treatment const> treatments, std::uint64_t round,
                                      std::function<bool()> const& stop, std::function<void()> const& before);

}  // namespace lull
