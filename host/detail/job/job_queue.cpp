// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/job/job_queue.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/job_memory.hpp>

namespace lull::detail {

void job_queue::add(std::shared_ptr<job_core> job) {
  {
    std::lock_guard const lock{mutex_};
    if (std::shared_ptr<job_memory> const& its = job->description().memory; its != nullptr) {
      std::string const name = "job '" + job->description().name + "': ";
      if (its->is_lost()) throw usage_error{name + "what was in its memory is lost: allocate it again"};
      bool const is_anothers = std::any_of(alive_.begin(), alive_.end(), [&](auto const& other) {
        return other->description().memory == its && !is_final(other->state());
      });
      if (is_anothers) throw usage_error{name + "its memory is that of a job that is not over: give each its own"};
      new_tenants_.push_back(job);
    }
    job->order = submitted_++;
    job->kept_by = weak_from_this();
    alive_.insert(job);
    noted_.insert(std::move(job));
  }
  wakes_->notify();
}

void job_queue::note(std::shared_ptr<job_core> job) {
  {
    std::lock_guard const lock{mutex_};
    if (!alive_.contains(job)) return;
    noted_.insert(std::move(job));
  }
  wakes_->notify();
}

void job_queue::cancel_all() {
  for (auto const& job : all()) job->want(job_core::wish::cancel);
}

std::vector<std::shared_ptr<job_core>> job_queue::all() const {
  std::lock_guard const lock{mutex_};
  return {alive_.begin(), alive_.end()};
}

bool job_queue::empty() const {
  std::lock_guard const lock{mutex_};
  return alive_.empty();
}

void job_queue::settle(job_state runnable) {
  std::set<std::shared_ptr<job_core>> noted;
  {
    std::lock_guard const lock{mutex_};
    noted.swap(noted_);
  }
  for (auto const& job : noted) {
    if (job->seat() != nullptr) continue;  // the placer looks after it
    put_back(job, job->move_to(runnable));
  }
}

void job_queue::take(std::shared_ptr<job_core> const& job) { queue_of(*job).erase(job); }

void job_queue::put_back(std::shared_ptr<job_core> job, job_state now) {
  if (is_final(now)) return forget(job);
  if (now == job_state::queued) {
    queue_of(*job).insert(std::move(job));
  } else {
    take(job);  // until it is noted again
  }
}

void job_queue::forget(std::shared_ptr<job_core> const& job) {
  take(job);
  std::lock_guard const lock{mutex_};
  alive_.erase(job);
  noted_.erase(job);
}

void job_queue::fail_all() {
  for (auto const& job : all()) put_back(job, job->move_to(job_state::failed));
}

std::vector<std::shared_ptr<job_core>> job_queue::take_new_tenants() {
  std::lock_guard const lock{mutex_};
  return std::exchange(new_tenants_, {});
}

}  // namespace lull::detail
