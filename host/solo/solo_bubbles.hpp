// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <lull/device/cursor.hpp>
#include <lull/device/gate.hpp>
#include <lull/device/slot.hpp>
#include <lull/device/trace.hpp>
#include <lull/host/array.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>
#include <lull/host/solo/feeder_thread.hpp>
#include <lull/host/task/owner.hpp>

namespace lull {

/// What is launched into the bubbles of a task that is alone on a machine.
struct solo_workers {
  std::chrono::nanoseconds lease;  // a block stays for so long at most
  int blocks_per_processor = 0;    // 0: as many as fit
  std::size_t in_line = 1;  // workers, one or more, each behind the one before, so that another comes at once where one
                            // leaves by its lease
};

/// One task alone on a machine, in bubbles that the caller opens and closes: gate, slot and job, without a runtime. Not
/// thread-safe; calls block. Throws limit_error where the machine's memory is used up. No block may be inside when it
/// goes.
class solo_bubbles {
 public:
  /// Throws usage_error where the task was built without code for this machine.
  solo_bubbles(executor& machine, worker_kernel const& kernel, solo_workers const& workers);
  solo_bubbles(solo_bubbles const&) = delete;
  solo_bubbles& operator=(solo_bubbles const&) = delete;
  ~solo_bubbles();

  std::uint64_t blocks() const noexcept { return grid_.blocks; }  // of a worker
  gate_line* gate() const noexcept { return gate_.data(); }
  /// What the gate is closed with, by `close` or by what comes before it.
  std::uint32_t closing_value() const noexcept { return static_cast<std::uint32_t>(2 * bubble_); }

  /// Puts a job into the slot, at its beginning; one that was not ended is given up. Between two bubbles.
  void begin(job_description job);
  /// The owner serves the job from now on, on a thread of its own. At most once a job.
  void serve(task_owner& owner);
  /// Whether input may yet come.
  bool is_served() const noexcept { return served_ && !served_->over(); }
  /// Its owner has thrown.
  bool serving_failed() const noexcept { return served_ && served_->failed(); }
  detail::job_record& job() noexcept { return *job_; }
  /// The job is over: waits until the owner has taken what is done, and throws what it threw.
  void end(job_state how);

  /// Opens a bubble and launches its workers.
  void open();
  /// Launches a worker where one has left the open bubble.
  void renew();
  /// Whether all blocks of all workers are out.
  bool left();
  /// Closes the bubble; blocks may be inside for as long as their chunks take.
  void shut();
  /// What happened in the last bubble. All blocks are out.
  bubble_record record() const { return record_.read().front(); }
  /// Closes the bubble, waits for the last block, and says what happened in it.
  bubble_record close();

  /// Between two bubbles: how far the job has come, and how many blocks think that they are inside.
  cursor reached() const;
  std::uint64_t inside() const;

 private:
  void give_up() noexcept;
  gate_ref edges() const noexcept { return {gate_.data(), record_.data(), 0}; }
  void launch(bubble_mark& mark) {
    machine_.launch(kernel_, grid_, {slot_.data(), edges()}, &mark, start_when::at_once);
  }

  executor& machine_;
  worker_kernel const kernel_;
  std::uint64_t const lease_ns_;
  worker_grid grid_;
  std::uint64_t bubble_ = 0;
  machine_array<gate_line> gate_;
  machine_array<bubble_record> record_;
  machine_array<slot_line> slot_;
  std::vector<std::unique_ptr<bubble_mark>> marks_;  // one a worker
  std::shared_ptr<detail::job_record> job_;
  std::unique_ptr<feeder_thread> served_;  // last: it uses the job
};

}  // namespace lull
