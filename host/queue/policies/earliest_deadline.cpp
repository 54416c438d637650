// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/policies/policies.hpp>

#include <algorithm>
#include <limits>
#include <tuple>

namespace lull::queue {

void earliest_deadline(std::vector<waiting_job>& jobs, queue_view const&) {
  auto const key = [](waiting_job const& of) {
    return std::tuple{-of.priority, of.deadline_s.value_or(std::numeric_limits<std::int64_t>::max())};
  };
  std::sort(jobs.begin(), jobs.end(), [&](waiting_job const& one, waiting_job const& other) {
    return std::tuple_cat(key(one), std::tie(one.id)) < std::tuple_cat(key(other), std::tie(other.id));
  });
}

}  // namespace lull::queue
