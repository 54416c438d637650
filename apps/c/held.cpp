// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/c/held.hpp>

#include <utility>

namespace lull::c {

namespace {

/// Reachable, so that a leak checker knows it for what it is.
void leave_alone(std::unique_ptr<held_job> job) {
  if (auto const saved = job->saver()) saved->leave_alone();
  static std::mutex guard;
  static auto* const left_alone = new std::vector<std::unique_ptr<held_job>>;
  std::lock_guard const lock{guard};
  left_alone->push_back(std::move(job));
}

}  // namespace

void end_jobs(std::vector<std::unique_ptr<held_job>> ended, std::chrono::steady_clock::time_point deadline) noexcept {
  for (auto const& job : ended) job->handle.cancel();
  for (auto& job : ended) {
    if (!job->handle.wait(left_until(deadline))) leave_alone(std::move(job));
  }
}

}  // namespace lull::c
