// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/policies/policies.hpp>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace lull::queue {

void fair_shares(std::vector<waiting_job>& jobs, queue_view const& view) {
  first_come(jobs, view);
  struct placed {
    int priority;
    std::size_t turn;  // of the user's jobs of this priority
    double used_s;
    std::size_t at;  // among all
  };
  std::map<std::pair<int, std::string_view>, std::size_t> turns;
  std::vector<placed> order;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    waiting_job const& job = jobs[i];
    auto const used = view.used_s.find(job.user);
    order.push_back(
        {job.priority, turns[{job.priority, job.user}]++, used != view.used_s.end() ? used->second : 0.0, i});
  }
  std::sort(order.begin(), order.end(), [](placed const& one, placed const& other) {
    return std::tuple{-one.priority, one.turn, one.used_s, one.at} <
           std::tuple{-other.priority, other.turn, other.used_s, other.at};
  });
  std::vector<waiting_job> sorted;
  sorted.reserve(jobs.size());
  for (placed const& each : order) sorted.push_back(std::move(jobs[each.at]));
  jobs = std::move(sorted);
}

}  // namespace lull::queue
