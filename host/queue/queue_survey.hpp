// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <lull/host/queue/attempt_record.hpp>
#include <lull/host/queue/lease_watch.hpp>
#include <lull/host/queue/store.hpp>

namespace lull::queue {

/// What a user's jobs come to, of those that the queue still has.
struct user_figures {
  std::array<std::size_t, state_names.size()> jobs{};  // by state
  std::uint64_t attempts = 0;
  std::uint64_t failures = 0;  // since the user last released or tried the job again; deaths as well
  std::uint64_t deaths = 0;
  std::uint64_t lost_leases = 0;
  std::int64_t worked_s = 0;  // for which agents had the jobs

  user_figures& operator+=(user_figures const& more) noexcept;
};

/// What a queue holds at one time.
struct queue_figures {
  std::map<std::string, user_figures> users{};
  std::int64_t oldest_waiting_s = 0;  // since the submission of the oldest job that an agent could begin now; 0: none
  std::size_t agents_alive = 0;
  std::size_t agents_dead = 0;
};

/// Looks at a queue again and again. Documents do not change, so each is read once; a history is read again where its
/// job has another version, and never where no agent has had the job. Not thread-safe. Errors: as the store's.
class queue_survey {
 public:
  using time_point = lease_watch::time_point;

  explicit queue_survey(job_store& store) : store_(store), watch_(store.lease()) {}

  /// Call it at least every quarter of a lease, so that agents are known to live or to be dead.
  void look_at_agents(time_point now);
  /// Returns whether it knows of each agent. Where the store has no clock this takes until each has beaten, or a lease.
  bool knows_agents(time_point now);
  /// Counts all of the queue. `time_s`: now, in seconds since 1970.
  queue_figures look(time_point now, std::int64_t time_s);
  /// Returns how many histories were read until now.
  std::uint64_t histories_read() const noexcept { return histories_read_; }

 private:
  struct known_job {
    job_document document{};                 // only what is looked at here: its user, and what it awaits
    std::optional<std::uint64_t> version{};  // that the attempts are of
    std::vector<attempt_record> attempts{};
  };

  known_job const& known(job_entry const& of);

  job_store& store_;
  lease_watch watch_;
  std::vector<agent_record> agents_;
  time_point first_look_{};
  std::map<std::string, std::uint64_t> first_beats_;  // by agent
  std::map<std::string, known_job> jobs_;
  std::uint64_t histories_read_ = 0;
};

}  // namespace lull::queue
