// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/policies/policies.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

namespace lull::queue {

void weighted::operator()(std::vector<waiting_job>& jobs, queue_view const& view) const {
  std::map<std::string, double, std::less<>> places;
  for (auto const& [order, weight] : parts) {
    order(jobs, view);
    for (std::size_t i = 0; i < jobs.size(); ++i) places[jobs[i].id] += weight * static_cast<double>(i);
  }
  std::sort(jobs.begin(), jobs.end(), [&](waiting_job const& one, waiting_job const& other) {
    return std::tie(places.find(one.id)->second, one.id) < std::tie(places.find(other.id)->second, other.id);
  });
}

}  // namespace lull::queue
