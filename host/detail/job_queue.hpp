// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include <lull/host/detail/job_record.hpp>
#include <lull/host/detail/wake_signal.hpp>

namespace lull::detail {

/// The jobs of a runtime that are not over, and which of them wait for a place. A thread that changes something about a
/// job notes it, so that a round of the dispatcher costs what has changed and not what is queued. No call waits. `add`,
/// `note`, `cancel_all`, `all` and `empty` come from any thread, the rest from the dispatcher.
class job_queue : public std::enable_shared_from_this<job_queue> {
 public:
  explicit job_queue(std::shared_ptr<wake_signal> wakes) : wakes_(std::move(wakes)) {}

  /// Throws usage_error where the memory of the job is that of another, or what was in it is lost.
  void add(std::shared_ptr<job_record> job);
  /// Its owner wishes something else of it, or its memory comes and goes.
  void note(std::shared_ptr<job_record> job);
  void cancel_all();
  std::vector<std::shared_ptr<job_record>> all() const;
  bool empty() const;

  /// Looks at the jobs that were noted. Those that are over or away no longer wait for a place, others do again.
  /// `waiting`: what a job that may run becomes: queued, or failed.
  void settle(job_state waiting);
  /// The first, in order, for which `which` is true, of those whose kernel conducts a graph, or of the others.
  enum class kind { functor, graph };
  template <class Which>
  std::shared_ptr<job_record> first(kind of, Which which, std::size_t max_looked_at) const {
    for (auto const& each : waiting_[static_cast<std::size_t>(of)]) {
      if (max_looked_at-- == 0) break;
      if (which(each)) return each;
    }
    return nullptr;
  }
  /// Takes it out, for a place.
  void take(std::shared_ptr<job_record> const& job);
  /// A job came out of its place, in this state.
  void put_back(std::shared_ptr<job_record> job, job_state now);
  /// All are over now.
  void fail_all();
  /// Jobs that are not over and name their memory, and came since it was asked last.
  std::vector<std::shared_ptr<job_record>> take_new_tenants();

 private:
  struct before {
    bool operator()(std::shared_ptr<job_record> const& one, std::shared_ptr<job_record> const& other) const {
      return goes_before(*one, *other);
    }
  };
  using ordered = std::set<std::shared_ptr<job_record>, before>;

  ordered& queue_of(job_record const& job) { return waiting_[job.kernel().conducts ? 1 : 0]; }
  void forget(std::shared_ptr<job_record> const& job);

  std::shared_ptr<wake_signal> const wakes_;
  std::array<ordered, 2> waiting_;  // for a place, by kind; the dispatcher's
  mutable std::mutex mutex_;        // all that follows
  std::uint64_t submitted_ = 0;
  std::set<std::shared_ptr<job_record>> alive_;
  std::set<std::shared_ptr<job_record>> noted_;
  std::vector<std::shared_ptr<job_record>> new_tenants_;
};

}  // namespace lull::detail
