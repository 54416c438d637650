// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/policies/policies.hpp>

#include <cstdint>
#include <limits>

#include <lull/host/queue/policies/sorted.hpp>

namespace lull::queue {

void earliest_deadline(std::vector<waiting_job>& jobs, queue_view const&) {
  sort_by(jobs, [](waiting_job const& of) {
    return std::tuple{-of.priority, of.deadline_s.value_or(std::numeric_limits<std::int64_t>::max())};
  });
}

}  // namespace lull::queue
