// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lull::queue {

/// What a policy knows of a job that waits.
struct waiting_job {
  std::string id{};  // ids are in the order of submission
  std::string user{};
  int priority = 0;
  std::int64_t submitted_s = 0;              // since 1970
  double work_s = 0;                         // that it will take; 0: not known
  std::optional<std::int64_t> deadline_s{};  // since 1970
};

/// What it knows besides.
struct queue_view {
  std::int64_t now_s = 0;                               // since 1970
  std::map<std::string, double, std::less<>> used_s{};  // by each user, less what has decayed
};

/// Puts jobs into the order in which agents should begin them. A pure function, which agents and simulations share.
using policy = std::function<void(std::vector<waiting_job>&, queue_view const&)>;

/// By priority, and then by age.
void first_come(std::vector<waiting_job>& jobs, queue_view const& view);
/// By priority, and then what takes the least; jobs of unknown length last.
void shortest_first(std::vector<waiting_job>& jobs, queue_view const& view);
/// By priority, and then what takes the most: where all jobs are there, the last ends earliest. Jobs of unknown length
/// come first.
void max_work_first(std::vector<waiting_job>& jobs, queue_view const& view);
/// By priority, and then what is due first; jobs without a deadline last.
void earliest_deadline(std::vector<waiting_job>& jobs, queue_view const& view);
/// By priority, and then one job of each user, that of the least use first, then the next of each, and so on. The
/// oldest of a user's jobs comes first.
void fair_shares(std::vector<waiting_job>& jobs, queue_view const& view);

/// By priority, where a job that has waited for `step` counts as of one priority more, and one that has waited for
/// `bound` comes before all that have not, the oldest first.
struct aging {
  double step_s = 3'600;
  double bound_s = 3 * 86'400;

  void operator()(std::vector<waiting_job>& jobs, queue_view const& view) const;
};

/// By the sum of a job's places under several policies, each times its weight.
struct weighted {
  std::vector<std::pair<policy, double>> parts{};

  void operator()(std::vector<waiting_job>& jobs, queue_view const& view) const;
};

/// Returns a policy by its name, such as "shortest"; or several with weights, as "shortest:0.7+fair:0.3". Throws
/// usage_error, which lists the names.
policy policy_named(std::string_view text);

/// Half of what a user has used counts after this time.
inline constexpr double use_halves_s = 86'400;
/// Returns what is left of a use of so many seconds after `later_s`: half of it after each `half_s`.
double decayed(double used_s, double later_s, double half_s) noexcept;

}  // namespace lull::queue
