// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/policy.hpp>

#include <algorithm>
#include <tuple>

namespace lull::queue {

readiness readiness_of(job_document const& job, std::map<std::string, job_entry> const& all) {
  readiness found;
  for (std::string const& id : job.after.jobs) {
    auto const at = all.find(id);
    if (at == all.end()) return {readiness::never, "job " + id + ", which it awaits, is not there"};
    job_stage const stage = at->second.stage;
    if (is_over(stage) && stage != job_stage::done && !job.after.any_end)
      return {readiness::never, "job " + id + ", which it awaits, is " + std::string{name_of(stage)}};
    bool const has_results = stage != job_stage::done || at->second.in_place;
    if (!is_over(stage) || !has_results)
      found = {readiness::waits, "waits for job " + id + ", which is " + std::string{name_of(stage)}};
  }
  return found;
}

void first_come(std::span<job_entry> waiting) {
  std::sort(waiting.begin(), waiting.end(), [](job_entry const& one, job_entry const& other) {
    return std::tuple{-one.priority, one.id} < std::tuple{-other.priority, other.id};
  });
}

}  // namespace lull::queue
