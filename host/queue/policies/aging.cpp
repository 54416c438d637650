// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/policies/policies.hpp>

#include <tuple>

#include <lull/host/queue/policies/sorted.hpp>

namespace lull::queue {

namespace {

/// What comes first has the least of it.
std::tuple<bool, double> rank_of(waiting_job const& job, queue_view const& view, aging const& by) {
  double const waited_s = static_cast<double>(view.now_s - job.submitted_s);
  if (waited_s >= by.bound_s) return {false, 0};
  return {true, -(job.priority + waited_s / by.step_s)};
}

}  // namespace

void aging::operator()(std::vector<waiting_job>& jobs, queue_view const& view) const {
  sort_by(jobs, [&](waiting_job const& of) { return rank_of(of, view, *this); });
}

}  // namespace lull::queue
