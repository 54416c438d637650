// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <lull/device/cursor.hpp>
#include <lull/device/gate.hpp>
#include <lull/device/slot.hpp>
#include <lull/device/trace.hpp>
#include <lull/host/array.hpp>
#include <lull/host/detail/job/job_image.hpp>
#include <lull/host/detail/job/job_seat.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>

namespace lull {

/// One job on a machine without a runtime, in bubbles that the caller opens and closes: its gate, its slot, its worker.
/// Not thread-safe; calls block. Throws limit_error if the machine has no memory left.
class solo_bubbles {
 public:
  using log_function = std::function<void(std::string_view)>;

  /// `lease`: a block's longest stay. Throws usage_error if the task has no code for this machine, and for a grain of
  /// 0.
  solo_bubbles(executor& executor, job_description job, std::chrono::nanoseconds lease);
  solo_bubbles(solo_bubbles const&) = delete;
  solo_bubbles& operator=(solo_bubbles const&) = delete;
  /// Closes the bubble if one is open, and cancels the job if it has not ended.
  ~solo_bubbles();

  std::uint64_t blocks() const noexcept { return grid_.blocks; }  // of a worker
  gate_line* gate() const noexcept { return gate_.data(); }
  /// Returns the value that closes the last opened bubble.
  std::uint32_t closing_value() const noexcept { return static_cast<std::uint32_t>(2 * bubble_); }
  job handle() const { return detail::handle_of(job_); }

  /// Continues where `save` was called; call it before the first bubble. Throws as job_core::restore.
  void restore(std::span<std::uint64_t const> saved);
  /// Ends the job.
  void end(job_state how);

  /// Opens a bubble and launches its worker.
  void open();
  /// Returns whether all blocks of the worker have left.
  bool left() { return executor_.workers_left(*mark_); }
  /// Closes the bubble, waits for the last block, and returns what happened in the bubble. `log` receives a line about
  /// a chunk that takes longer than 2 s. A chunk that does not end within 10 s ends the process: nothing can make its
  /// block leave, and neither our memory nor the owner's may go while a block is inside.
  bubble_record close(log_function const& log = {});

  /// Returns the job's progress; call it between two bubbles.
  detail::job_image reached() const;
  /// Returns what another owner needs to continue, together with the task's arrays; between two bubbles.
  std::vector<std::uint64_t> save();
  /// Returns how many blocks the slot counts as inside; between two bubbles.
  std::uint64_t inside() const;

 private:
  gate_ref edges() const noexcept { return {gate_.data(), record_.data(), 0, nullptr, &gate_.data()->awaited}; }
  void await_blocks(log_function const& log);
  void await_copies();

  executor& executor_;
  worker_grid const grid_;
  std::uint64_t bubble_ = 0;
  bool is_open_ = false;
  device_array<gate_line> gate_;
  device_array<bubble_record> record_;
  device_array<slot_line> slot_;
  std::unique_ptr<bubble_mark> mark_;  // of the worker
  std::shared_ptr<detail::job_core> job_;
  std::shared_ptr<detail::job_seat> seat_;  // the job's while a bubble is open
  std::unique_ptr<copy_lane> lane_;
};

}  // namespace lull
