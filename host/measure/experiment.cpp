// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/experiment.hpp>

#include <lull/host/measure/turns.hpp>

namespace lull {

std::vector<replayed> replay_by_turns(stage_trainer& on, stage_plan const& plan, std::uint32_t iterations,
                                      std::span<treatment const> treatments, std::uint64_t round,
                                      std::function<bool()> const& stop, std::function<void()> const& before) {
  std::vector<replayed> found(treatments.size());
  take_turns(treatments.size(), round, [&](std::size_t turn) {
    treatment const& now = treatments[turn];
    before();
    now.begin();
    found[turn] = replay(on, plan, iterations, now.side, stop, now.marks_steps);
    now.end();
  });
  return found;
}

}  // namespace lull
