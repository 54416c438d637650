// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/lease_watch.hpp>

#include <algorithm>

namespace lull::queue {

void lease_watch::see(std::span<agent_record const> agents, time_point now) {
  // A process that was stopped, or could not reach the store, has not watched: what it knows of the others begins
  // again. They may not have reached the store either, so what a store says of the time before does not count.
  bool const has_slept = now - last_look_ > lease_ / 2;
  if (has_slept) agents_.clear();
  if (has_slept && last_look_ != time_point{}) watches_since_ = now;
  last_look_ = now;
  for (agent_record const& each : agents) {
    auto const [at, is_new] = agents_.try_emplace(each.id, seen{each.beats, now});
    if (each.silence) at->second.since = std::max<time_point>(now - *each.silence, watches_since_);
    if (!each.silence && !is_new && at->second.beats != each.beats) at->second = {each.beats, now};
  }
}

std::chrono::nanoseconds lease_watch::silence(std::string const& agent, time_point now) {
  auto const [at, is_new] = agents_.try_emplace(agent, seen{0, now});
  return now - at->second.since;
}

}  // namespace lull::queue
