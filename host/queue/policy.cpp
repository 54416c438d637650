// SPDX-License-Identifier: Apache-2.0
#include <lull/host/queue/policy.hpp>

#include <tuple>

#include <lull/host/queue/policies/sorted.hpp>

namespace lull::queue {

readiness readiness_of(job_document const& job, std::map<std::string, job_entry> const& all) {
  readiness found;
  for (std::string const& id : job.after.jobs) {
    auto const at = all.find(id);
    if (at == all.end()) return {readiness::never, "job " + id + ", which it awaits, is not there"};
    entry_state const state = at->second.state;
    if (is_over(state) && state != entry_state::done && !job.after.any_end)
      return {readiness::never, "job " + id + ", which it awaits, is " + std::string{name_of(state)}};
    bool const has_results = state != entry_state::done || at->second.in_place;
    if (!is_over(state) || !has_results)
      found = {readiness::waits, "waits for job " + id + ", which is " + std::string{name_of(state)}};
  }
  return found;
}

void by_priority_and_age(std::span<job_entry> waiting) {
  sort_by(waiting, [](job_entry const& of) { return std::tuple{-of.priority}; });
}

}  // namespace lull::queue
