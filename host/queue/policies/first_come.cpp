// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/policies/policies.hpp>

#include <lull/host/queue/policies/sorted.hpp>

namespace lull::queue {

void first_come(std::vector<waiting_job>& jobs, queue_view const&) {
  sort_by(jobs, [](waiting_job const& of) { return std::tuple{-of.priority}; });
}

}  // namespace lull::queue
