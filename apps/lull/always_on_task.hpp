// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <lull/host/array.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/job.hpp>

namespace lull {

/// A side task as ordinary code on a stream of the lowest priority, one kernel a phase: what people run today, and the
/// baseline. The host waits for the device once a round, to learn whether the task goes on; the sizes of the other
/// phases are those of the second round (the first may set up), and a task whose phases change their size later is
/// refused. Not thread-safe.
class always_on_task {
 public:
  always_on_task(executor& machine, job_description job);
  ~always_on_task();
  always_on_task(always_on_task const&) = delete;
  always_on_task& operator=(always_on_task const&) = delete;

  /// Enqueues one round. Blocks until the one before is done. Errors: usage_error for a task whose phases change their
  /// size.
  void round();
  bool finished() const noexcept { return finished_; }
  std::uint64_t items() const noexcept { return items_; }    // enqueued
  std::uint64_t chunks() const noexcept { return chunks_; }  // likewise; so, too, phases
  std::uint64_t phases() const noexcept { return phases_; }

 private:
  std::uint64_t read_extent(std::uint32_t step) const;
  mapped_memory word(std::uint32_t step) const;
  void ask(position at);

  executor& machine_;
  job_description job_;
  worker_kernel kernel_;
  mapped_array<std::uint64_t> extents_;  // (steps,)
  std::vector<std::uint64_t> sizes_;     // (steps,) of the second round
  std::uint64_t rounds_ = 0;
  position at_;
  bool started_ = false;
  bool finished_ = false;
  std::uint64_t items_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t phases_ = 0;
};

}  // namespace lull
