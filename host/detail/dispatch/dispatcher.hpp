// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <lull/host/detail/dispatch/collector.hpp>
#include <lull/host/detail/dispatch/placer.hpp>
#include <lull/host/detail/gate/captured_gates.hpp>
#include <lull/host/detail/gate/gate.hpp>
#include <lull/host/detail/job/job_memories.hpp>
#include <lull/host/detail/job/job_queue.hpp>
#include <lull/host/detail/log_queue.hpp>
#include <lull/host/executor.hpp>

namespace lull::detail {

struct dispatcher_options {
  collector_options reports{};
  job_memories::limits memory{};
};

/// Makes jobs run in bubbles. Its parts are a queue of jobs, a placer that puts them into the two places, a collector
/// of reports, and a keeper of jobs' memory. One thread calls `tick` from time to time; each part says which of its
/// calls any thread may make. No lock is held over a call to the machine, and a tick never waits for a stream.
class dispatcher {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds later{5};  // while a job runs, or graphs may replay

  /// `clock` learns the moments of bubbles that are over; the dispatcher notifies `wakes` when there is work. Throws
  /// limit_error.
  dispatcher(std::shared_ptr<executor> executor, std::vector<std::unique_ptr<gate>>& gates, captured_gates& captured,
             device_clock& clock, std::shared_ptr<wake_signal> wakes, dispatcher_options const& options,
             log_queue& log);

  /// Blocks for what jobs of this kind need on the machine. Throws limit_error, and usage_error if the job's memory
  /// belongs to another job. Any thread may call it.
  void add(std::shared_ptr<job_core> job);
  /// As runtime::give_back. Any thread may call it.
  std::uint64_t give_back(std::uint64_t bytes, std::chrono::nanoseconds at_most);
  /// Before `tick`; null: no other process holds any.
  void ask_others_first(memory_of_others* others) noexcept { memories_.take_from_others_first(others); }
  /// Any thread may ask there.
  memory_requests& asked_back() noexcept { return memories_.requests(); }
  /// Returns how much of the device's memory this program holds. Any thread may call it.
  std::uint64_t held_bytes() const { return executor_->taken_bytes().now; }
  /// Returns whether every job is over. Any thread may call it.
  bool empty() const { return queue_->empty(); }
  /// Cancels all jobs; ticks continue until `empty`. Any thread may call it.
  void cancel_all() { queue_->cancel_all(); }
  /// Returns whether a job's memory is being copied. Any thread may call it.
  bool moves_memory() const noexcept { return memories_.any_moves(); }

  placer& places() noexcept { return placer_; }
  placer const& places() const noexcept { return placer_; }
  collector& bubbles() noexcept { return collector_; }
  collector const& bubbles() const noexcept { return collector_; }

  /// Does one round of work. Returns when the next tick should come.
  time_point tick();
  /// Stops harvesting: all jobs fail as soon as no block is inside.
  void give_up();
  /// Fails all jobs at once and wakes their waiters: the machine is lost.
  void fail_all() noexcept;
  /// Collects the remaining bubbles; called after the last tick.
  void collect() {
    if (collector_.collect(placer_.at_work())) collector_.begin(true);
  }
  /// Frees all jobs and the host memory in which they were saved; called when all are over.
  void forget_jobs() { memories_.forget_all(); }

 private:
  static constexpr std::chrono::milliseconds soon{1};         // while bubbles are under way
  static constexpr std::chrono::milliseconds much_later{50};  // otherwise each change wakes the dispatcher
  static constexpr std::chrono::microseconds at_once{200};    // while an exchange is under way
  static constexpr std::chrono::milliseconds free_every{100};

  time_point next_tick() const;
  void free_leftovers();

  std::shared_ptr<executor> const executor_;
  std::vector<std::unique_ptr<gate>>& gates_;
  captured_gates& captured_;
  std::shared_ptr<wake_signal> const wakes_;
  std::shared_ptr<job_queue> const queue_;
  placer placer_;
  collector collector_;
  job_memories memories_;
  time_point next_free_{};
  bool given_up_ = false;
};

}  // namespace lull::detail
