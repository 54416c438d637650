// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include <lull/host/queue/store.hpp>

namespace lull::queue {

/// Tells how long agents have been silent: by the clock of a store that has one, otherwise for how long their counters
/// have stood still by this process's own clock. So clocks of different machines are never compared. Not thread-safe.
class lease_watch {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit lease_watch(std::chrono::nanoseconds lease) noexcept : lease_(lease) {}

  /// Call it with all agents, regularly.
  void see(std::span<agent_record const> agents, time_point now);
  /// An agent that was never seen is watched from the first question on.
  std::chrono::nanoseconds silence(std::string const& agent, time_point now);
  /// Returns whether it has been silent for a lease.
  bool is_dead(std::string const& agent, time_point now) { return silence(agent, now) >= lease_; }

 private:
  struct seen {
    std::uint64_t beats = 0;
    time_point since{};  // it has had so many
  };

  std::chrono::nanoseconds const lease_;
  std::map<std::string, seen> agents_;
  time_point last_look_{};
  time_point watches_since_{};  // it had no look at all for a while
};

}  // namespace lull::queue
