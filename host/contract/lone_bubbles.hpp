// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <lull/device/cursor.hpp>
#include <lull/device/gate.hpp>
#include <lull/device/slot.hpp>
#include <lull/device/trace.hpp>
#include <lull/host/array.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>
#include <lull/host/owner.hpp>
#include <lull/host/serving.hpp>

namespace lull {

/// One task alone on a machine, in bubbles that the caller opens and closes: gate, slot and job, without a runtime. Not
/// thread-safe; calls block. Throws limit_error where the machine's memory is used up.
class lone_bubbles {
 public:
  /// A block stays for `lease` at most. Throws usage_error where the task was built without code for this machine.
  lone_bubbles(executor& machine, worker_kernel const& kernel, std::chrono::nanoseconds lease);
  lone_bubbles(lone_bubbles const&) = delete;
  lone_bubbles& operator=(lone_bubbles const&) = delete;
  ~lone_bubbles();

  std::uint64_t blocks() const noexcept { return blocks_; }
  gate_line* gate() const noexcept { return gate_.data(); }
  /// What the gate is closed with, by `close` or by whoever comes before it.
  std::uint32_t closing_value() const noexcept { return static_cast<std::uint32_t>(2 * bubble_); }

  /// Puts the task into the slot, at its beginning; a run that was not ended is given up. Between two bubbles. `owner`,
  /// where there is one, serves it from now on.
  void begin(functor_bytes const& functor, std::uint32_t grain, task_owner* owner = nullptr);
  /// Whether input may yet come.
  bool is_served() const noexcept { return served_ && !served_->over(); }
  /// The run is over: waits until the owner has taken what is done, and throws what it threw.
  void end(job_state how);
  /// Opens a bubble and launches a worker into it.
  void open();
  /// Whether all blocks of the last worker are out.
  bool left() { return machine_.workers_left(*mark_); }
  /// Closes the bubble, waits for the last block, and says what happened in it.
  bubble_record close();

  /// Between two bubbles: how far the task has come, and how many blocks think that they are inside.
  cursor reached() const;
  std::uint64_t inside() const;

 private:
  void give_up() noexcept;
  gate_ref edges() const noexcept { return {gate_.data(), record_.data(), 0}; }

  executor& machine_;
  worker_kernel const kernel_;
  std::uint64_t const lease_ns_;
  std::uint64_t blocks_ = 1;
  std::uint64_t bubble_ = 0;
  machine_array<gate_line> gate_;
  machine_array<bubble_record> record_;
  machine_array<slot_line> slot_;
  std::unique_ptr<bubble_mark> mark_;
  std::shared_ptr<detail::submitted> job_;
  std::unique_ptr<serving> served_;  // last: it uses the job
};

}  // namespace lull
