// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/policies/policies.hpp>

#include <algorithm>
#include <tuple>

namespace lull::queue {

void first_come(std::vector<waiting_job>& jobs, queue_view const&) {
  std::sort(jobs.begin(), jobs.end(), [](waiting_job const& one, waiting_job const& other) {
    return std::tie(other.priority, one.id) < std::tie(one.priority, other.id);
  });
}

}  // namespace lull::queue
