// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/policies/policies.hpp>

#include <algorithm>
#include <tuple>

namespace lull::queue {

void aging::operator()(std::vector<waiting_job>& jobs, queue_view const& view) const {
  auto const key = [&](waiting_job const& of) {
    double const waited = static_cast<double>(view.now_s - of.submitted_s);
    bool const is_overdue = waited >= bound_s;
    return std::tuple{!is_overdue, is_overdue ? 0.0 : -(of.priority + waited / step_s)};
  };
  std::sort(jobs.begin(), jobs.end(), [&](waiting_job const& one, waiting_job const& other) {
    return std::tuple_cat(key(one), std::tie(one.id)) < std::tuple_cat(key(other), std::tie(other.id));
  });
}

}  // namespace lull::queue
