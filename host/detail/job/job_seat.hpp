// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <lull/device/cursor.hpp>
#include <lull/device/ring.hpp>
#include <lull/host/array.hpp>
#include <lull/host/detail/job/job_image.hpp>
#include <lull/host/detail/pinned_array.hpp>
#include <lull/host/executor.hpp>

namespace lull::detail {

/// What a job has on the machine while it is placed: its cursor, the ring of its handed-back chunks, and the line that
/// tells the host its progress. A job that is queued, paused or over has none, so seats are few and reused. Copies are
/// enqueued on a lane and have ended when the lane is done. One job at a time; not thread-safe.
class job_seat {
 public:
  /// `capacity`: chunks that can be handed back at once. Blocks. Throws limit_error.
  job_seat(std::shared_ptr<lull::executor> executor, std::uint64_t capacity);
  job_seat(job_seat const&) = delete;
  job_seat& operator=(job_seat const&) = delete;

  cursor* at() const noexcept { return cursor_.data(); }
  std::uint64_t capacity() const noexcept { return capacity_; }
  /// Returns what blocks tell; the host may read it at any time by executor::load_mapped.
  progress_line const* line() const noexcept { return line_.host(); }
  lull::executor& executor() const noexcept { return *executor_; }

  /// Enqueues what the job's blocks need; no block is inside. Earlier copies on the lane must be done, because they
  /// share pinned memory.
  void write(copy_lane& lane, job_image const& image);
  /// Enqueues that the cursor's `fed` becomes this; otherwise as `write`.
  void write_fed(copy_lane& lane, std::uint64_t fed);
  /// Enqueues a copy of the cursor. No block is inside.
  void read_words(copy_lane& lane);
  /// Enqueues a copy of the ring after the cursor's copy is done. Returns false if the ring is empty, so there is
  /// nothing to copy.
  bool read_ring(copy_lane& lane);
  /// Returns what both calls copied.
  job_image taken() const;

 private:
  std::uint64_t groups() const noexcept { return ring_groups(capacity_); }
  bool has_handed_back() const noexcept { return words_.data()->ring.pushed != words_.data()->ring.popped; }

  std::shared_ptr<lull::executor> executor_;
  std::uint64_t const capacity_;
  device_array<cursor> cursor_;
  device_array<ring_group> ring_;     // (groups(),)
  mapped_array<progress_line> line_;  // (1,)
  pinned_array<cursor> words_;        // (1,): of the last copy, to or from the machine
  pinned_array<ring_group> copied_;   // (groups(),)
  pinned_array<std::uint64_t> fed_;   // (1,)
  bool is_clean_ = true;              // all places of the ring are free
};

}  // namespace lull::detail
