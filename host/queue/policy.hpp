// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <lull/host/queue/store.hpp>

namespace lull::queue {

/// Whether a job may be begun now, and why not.
struct readiness {
  enum kind { ready, waits, never } what = ready;
  std::string why{};
};

/// Looks at what the job awaits. `all`: by id.
readiness readiness_of(job_document const& job, std::map<std::string, job_entry> const& all);

/// Puts jobs in the order of the policy first_come, without their documents. A pure function.
void by_priority_and_age(std::span<job_entry> waiting);

}  // namespace lull::queue
