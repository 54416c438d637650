// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include <lull/host/detail/job/job_core.hpp>
#include <lull/host/detail/wake_signal.hpp>

namespace lull::detail {

/// The jobs of a runtime that are not over, and which of them wait for a place. A thread that changes a job notes it,
/// so a tick costs what has changed, not what is queued. No call waits. Any thread may call `add`, `note`,
/// `cancel_all`, `all` and `empty`; only the dispatcher calls the rest.
class job_queue : public std::enable_shared_from_this<job_queue> {
 public:
  explicit job_queue(std::shared_ptr<wake_signal> wakes) : wakes_(std::move(wakes)) {}

  /// Throws usage_error if another job has this job's memory, or its content is lost.
  void add(std::shared_ptr<job_core> job);
  /// Notes that the owner's wish for the job, or the place of its memory, has changed.
  void note(std::shared_ptr<job_core> job);
  void cancel_all();
  std::vector<std::shared_ptr<job_core>> all() const;
  bool empty() const;

  /// Looks at the jobs that were noted. Those that are over or away no longer wait for a place, others do again.
  /// `runnable`: the state of a job that may run: queued, or failed.
  void settle(job_state runnable);
  /// Returns the first job, in order, for which `which` returns true: of those whose kernel conducts a graph, or of the
  /// others.
  enum class kind { functor, graph };
  template <class Which>
  std::shared_ptr<job_core> first(kind of, Which which, std::size_t max_looked_at) const {
    for (auto const& each : waiting_[static_cast<std::size_t>(of)]) {
      if (max_looked_at-- == 0) break;
      if (which(each)) return each;
    }
    return nullptr;
  }
  /// Takes the job out of the queue, for a place.
  void take(std::shared_ptr<job_core> const& job);
  /// Puts back a job that left its place in this state.
  void put_back(std::shared_ptr<job_core> job, job_state now);
  /// Fails all jobs.
  void fail_all();
  /// Returns the jobs with named memory that came since the last call and are not over.
  std::vector<std::shared_ptr<job_core>> take_new_tenants();

 private:
  struct before {
    bool operator()(std::shared_ptr<job_core> const& one, std::shared_ptr<job_core> const& other) const {
      return goes_before(*one, *other);
    }
  };
  using ordered = std::set<std::shared_ptr<job_core>, before>;

  ordered& queue_of(job_core const& job) { return waiting_[job.kernel().conducts ? 1 : 0]; }
  void forget(std::shared_ptr<job_core> const& job);

  std::shared_ptr<wake_signal> const wakes_;
  std::array<ordered, 2> waiting_;  // for a place, by kind; only the dispatcher uses it
  mutable std::mutex mutex_;        // guards all that follows
  std::uint64_t submitted_ = 0;
  std::set<std::shared_ptr<job_core>> alive_;
  std::set<std::shared_ptr<job_core>> noted_;
  std::vector<std::shared_ptr<job_core>> new_tenants_;
};

}  // namespace lull::detail
