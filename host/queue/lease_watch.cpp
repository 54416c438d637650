// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/lease_watch.hpp>

namespace lull::queue {

void lease_watch::see(std::span<agent_record const> agents, time_point now) {
  // A process that was stopped has not watched: what it knows of the others begins again.
  if (now - last_look_ > lease_ / 2) agents_.clear();
  last_look_ = now;
  for (agent_record const& each : agents) {
    auto const [at, is_new] = agents_.try_emplace(each.id, seen{each.beats, now});
    if (!is_new && at->second.beats != each.beats) at->second = {each.beats, now};
  }
}

std::chrono::nanoseconds lease_watch::silence(std::string const& agent, time_point now) {
  auto const [at, is_new] = agents_.try_emplace(agent, seen{0, now});
  return now - at->second.since;
}

}  // namespace lull::queue
