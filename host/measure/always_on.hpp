// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>
#include <lull/host/measure/plain_kernels.hpp>
#include <lull/host/measure/same_result.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/host/task/owner.hpp>

namespace lull {

/// Side work as people run it today, and the baseline: ordinary code on a stream of the lowest priority, one kernel a
/// phase, whatever the trainer does. A task that ends is started again. The host waits for the device once a round, to
/// learn whether the task goes on; the sizes of the other phases are those of the second round (the first may set up),
/// and a task whose phases change their size later is refused. Begins paused. Throws usage_error for a task without
/// code for this machine.
class always_on {
 public:
  always_on(executor& executor, task_owner& owner, results_kept kept);
  ~always_on();
  always_on(always_on const&) = delete;
  always_on& operator=(always_on const&) = delete;

  /// Launches rounds from now on, on a thread of its own.
  void resume();
  /// Ends that thread. Blocks until nothing of it runs on the machine. Errors, each told once: those of the work;
  /// usage_error for a task whose phases change their size.
  void pause();
  /// Blocks until the task has come to its end, or `stop`, which is asked with `done`, says so (false); then nothing of
  /// it runs on the machine. Errors: as `pause`.
  bool finish(stop_question const& stop);
  /// After `finish` that returned true: judges every run of the task to its end, or with no results kept its last.
  verification verify() { return kept_ == results_kept::all ? same_.verify(owner_).all : owner_.verify(); }

  /// Items, chunks and phases that were enqueued, and whether `finish` brought the task to its end. While it is paused.
  solo_run const& done() const noexcept { return done_; }
  /// Runs of the task that came to their end. At any time.
  std::uint64_t ended() const noexcept { return ended_; }

 private:
  void one_round();
  void ask(position at);
  mapped_memory word(std::uint32_t step) const { return {extents_.host() + step, extents_.device() + step}; }
  std::uint64_t read_extent(std::uint32_t step) const { return executor_.load_mapped(word(step).host); }

  executor& executor_;
  task_owner& owner_;
  results_kept const kept_;
  same_result same_;
  job_description job_;
  worker_kernel const kernel_;
  std::unique_ptr<plain_kernels> const plain_;
  mapped_array<std::uint64_t> extents_;  // (steps,)
  std::vector<std::uint64_t> sizes_;     // (steps,) of the second round
  std::uint64_t rounds_ = 0;
  std::optional<position> at_;
  bool over_ = false;
  solo_run done_;
  std::atomic<std::uint64_t> ended_ = 0;
  std::atomic<bool> wanted_ = false;
  std::future<void> working_;  // last: it uses all of the above
};

}  // namespace lull
