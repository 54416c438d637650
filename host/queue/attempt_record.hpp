// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lull/host/queue/store.hpp>

namespace lull::queue {

/// An attempt as a job's history tells it. Times are since 1970, in whole seconds, by the clock of the history.
struct attempt_record {
  unsigned number = 0;
  std::string agent{};
  std::optional<std::int64_t> begun_s{};      // it was claimed; none: that part of the history is lost
  std::optional<std::int64_t> ended_s{};      // none: the agent still has the job
  entry_state became = entry_state::claimed;  // of the job, with the end of the attempt
  bool lost_lease = false;                    // its agent was not heard of for its lease
  bool operator==(attempt_record const&) const = default;

  /// Returns for how many seconds until now the agent has had the job. 0 where the begin is not known, or clocks of two
  /// machines say that it was after the end.
  std::int64_t worked_s(std::int64_t now_s) const noexcept;
};

/// Returns the attempts that a history (the oldest line first) tells of, in order.
std::vector<attempt_record> attempts_of(std::span<job_event const> history);

/// Returns the reason that a history gives where a program said that nothing of the job had run.
std::string given_back_reason(std::string const& why);

/// Returns whether any attempt has run, and has not been given back so.
bool has_run(std::span<job_event const> history);

/// Returns the reason that a history gives where the agent of a job was not heard of for its lease.
std::string lost_lease_reason(std::string const& agent);

}  // namespace lull::queue
