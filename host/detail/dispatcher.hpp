// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <lull/host/detail/captured_gates.hpp>
#include <lull/host/detail/collector.hpp>
#include <lull/host/detail/gate.hpp>
#include <lull/host/detail/job_memories.hpp>
#include <lull/host/detail/job_queue.hpp>
#include <lull/host/detail/log_queue.hpp>
#include <lull/host/detail/placer.hpp>
#include <lull/host/executor.hpp>

namespace lull::detail {

struct dispatcher_options {
  collector_options reports{};
  job_memories::limits memory{};
};

/// Makes jobs run in bubbles: a queue of jobs, a placer that puts them into the two places, a collector of what bubbles
/// tell, and a keeper of jobs' memory. One thread calls `tick` from time to time; its parts say which of their calls
/// come from any thread. No lock is held over a call to the machine, and a tick makes none that waits for a stream.
class dispatcher {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds later{5};  // a round, while a job stands ready, or graphs may be replayed

  /// `clock` learns the moments of bubbles that are over; `wakes` is notified when there is something to do. Throws
  /// limit_error.
  dispatcher(std::shared_ptr<executor> executor, std::vector<std::unique_ptr<gate>>& gates, captured_gates& captured,
             device_clock& clock, std::shared_ptr<wake_signal> wakes, dispatcher_options const& options,
             log_queue& log);

  /// Blocks for what jobs of this kind need on the machine. Throws limit_error; usage_error where its memory is
  /// another's. Any thread.
  void add(std::shared_ptr<job_record> job);
  /// As runtime::give_back. Any thread.
  std::uint64_t give_back(std::uint64_t bytes, std::chrono::nanoseconds at_most);
  /// No job is left that is not over. Any thread.
  bool empty() const { return queue_->empty(); }
  /// Cancels all jobs; rounds go on until `empty`. Any thread.
  void cancel_all() { queue_->cancel_all(); }
  /// A job's memory is being copied. Any thread.
  bool moves_memory() const noexcept { return memories_.any_moves(); }

  placer& places() noexcept { return placer_; }
  placer const& places() const noexcept { return placer_; }
  collector& bubbles() noexcept { return collector_; }
  collector const& bubbles() const noexcept { return collector_; }

  /// Returns when the next one should come.
  time_point tick();
  /// Nothing is harvested any more: all jobs fail as soon as no block is inside.
  void give_up();
  /// The machine is lost: all jobs fail now, and their waiters wake.
  void fail_all() noexcept;
  /// When there is no tick any more: what is over of the bubbles.
  void collect() {
    if (collector_.collect(placer_.at_work())) collector_.begin(true);
  }
  /// When all are over: nothing of them is kept, nor the host memory that they were saved in.
  void forget_jobs() { memories_.forget_all(); }

 private:
  static constexpr std::chrono::milliseconds soon{1};         // while bubbles are under way
  static constexpr std::chrono::milliseconds much_later{50};  // else each change wakes the dispatcher
  static constexpr std::chrono::microseconds at_once{200};    // while control is at work

  time_point next_tick() const;

  std::vector<std::unique_ptr<gate>>& gates_;
  captured_gates& captured_;
  std::shared_ptr<wake_signal> const wakes_;
  std::shared_ptr<job_queue> const queue_;
  placer placer_;
  collector collector_;
  job_memories memories_;
  bool given_up_ = false;
};

}  // namespace lull::detail
