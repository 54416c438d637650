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
#include <lull/host/detail/job_image.hpp>
#include <lull/host/detail/job_seat.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>

namespace lull {

/// One job on a machine without a runtime, in bubbles that the caller opens and closes: its gate, its slot, its worker.
/// Not thread-safe; calls block. Throws limit_error where the machine's memory is used up.
class solo_bubbles {
 public:
  using log_line = std::function<void(std::string_view)>;

  /// A block stays for a `lease` at most. Throws usage_error where the task was built without code for this machine,
  /// and for a grain of 0.
  solo_bubbles(executor& executor, job_description job, std::chrono::nanoseconds lease);
  solo_bubbles(solo_bubbles const&) = delete;
  solo_bubbles& operator=(solo_bubbles const&) = delete;
  /// Closes the bubble if one is open, and cancels the job if it has not ended.
  ~solo_bubbles();

  std::uint64_t blocks() const noexcept { return grid_.blocks; }  // of a worker
  gate_line* gate() const noexcept { return gate_.data(); }
  /// The value that closes the last bubble that was opened.
  std::uint32_t closing_value() const noexcept { return static_cast<std::uint32_t>(2 * bubble_); }
  job handle() const { return detail::handle_of(job_); }

  /// Before the first bubble: takes up where `save` was called. Throws as job_record::restore.
  void restore(std::span<std::uint64_t const> saved);
  /// The job is over.
  void end(job_state how);

  /// Opens a bubble and launches its worker.
  void open();
  /// Whether all blocks of the worker are out.
  bool left() { return executor_.workers_left(*mark_); }
  /// Closes the bubble, waits for the last block, and says what happened in it. `log` is told of a chunk that takes
  /// longer than 2 s. One that does not end within 10 s ends the process: nothing can make its block leave, and neither
  /// our memory nor the owner's may go while a block is inside.
  bubble_record close(log_line const& log = {});

  /// Between two bubbles: how far the job has come.
  detail::job_image reached() const;
  /// … with the task's arrays all that another owner needs to go on.
  std::vector<std::uint64_t> save();
  /// … and how many blocks think that they are inside.
  std::uint64_t inside() const;

 private:
  gate_ref edges() const noexcept { return {gate_.data(), record_.data(), 0}; }
  void await_blocks(log_line const& log);
  void await_copies();

  executor& executor_;
  worker_grid const grid_;
  std::uint64_t bubble_ = 0;
  bool is_open_ = false;
  device_array<gate_line> gate_;
  device_array<bubble_record> record_;
  device_array<slot_line> slot_;
  std::unique_ptr<bubble_mark> mark_;  // of the worker
  std::shared_ptr<detail::job_record> job_;
  std::shared_ptr<detail::job_seat> seat_;  // the job's while a bubble is open
  std::unique_ptr<copy_lane> lane_;
};

}  // namespace lull
