// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/policies/policies.hpp>

#include <algorithm>
#include <tuple>

namespace lull::queue {

void max_work_first(std::vector<waiting_job>& jobs, queue_view const&) {
  auto const key = [](waiting_job const& of) { return std::tuple{-of.priority, of.work_s != 0, -of.work_s}; };
  std::sort(jobs.begin(), jobs.end(), [&](waiting_job const& one, waiting_job const& other) {
    return std::tuple_cat(key(one), std::tie(one.id)) < std::tuple_cat(key(other), std::tie(other.id));
  });
}

}  // namespace lull::queue
