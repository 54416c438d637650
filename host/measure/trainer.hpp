// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lull/host/executor.hpp>
#include <lull/host/measure/schedule.hpp>

namespace lull {

/// When the kernel that waits inside a bubble arrives: first of all, as most do; or while the worker's blocks are
/// already in.
enum class wait_arrival { before_worker, after_worker };

/// The moments of a replay on the machine's clock, ns: that of bubble records.
struct wait_moments {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;                     // then the closing edge is due
  std::optional<double> sm_mhz = std::nullopt;  // of the GPU meanwhile
};
struct iteration_moments {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};
struct replay_moments {
  std::vector<iteration_moments> iterations;  // (iterations,)
  std::vector<wait_moments> waits;            // (waits,) in the order they were enqueued
};

/// Stands for one stage of a pipeline: real work for its segments, waits for its gaps, all on one stream. Calls marked
/// *enqueue* return at once. One thread calls it.
class stage_trainer {
 public:
  virtual ~stage_trainer() = default;

  virtual stream_handle stream() = 0;
  /// How a segment is made, for the report.
  virtual std::string describe() const = 0;

  /// Makes room for the stamps of a replay; then the host enqueues without waiting, as a trainer's does.
  virtual void begin_replay(std::size_t iterations, std::size_t waits) = 0;
  virtual void begin_iteration() = 0;          // enqueue
  virtual void work(segment const& what) = 0;  // enqueue
  /// Enqueue. Lasts that long from its first block, whatever came before: what a bubble costs is never hidden in the
  /// next.
  virtual void wait(std::chrono::nanoseconds length, wait_arrival arrival) = 0;
  virtual void end_iteration() = 0;  // enqueue
  /// Enqueue. Returns a number for `wait_for_mark`.
  virtual std::size_t mark() = 0;
  /// Blocks until the stream has come to that mark.
  virtual void wait_for_mark(std::size_t number) = 0;
  /// Returns whether the stream has come to that mark, one of the latest 64.
  virtual bool has_passed(std::size_t number) = 0;
  /// Blocks until the stream is done.
  virtual replay_moments end_replay() = 0;
};

/// `forward`: the length of a forward segment, to which the lengths of others are held. Calibrates, which takes up to
/// seconds.
std::unique_ptr<stage_trainer> make_threads_trainer(std::chrono::nanoseconds forward);
/// Throws usage_error in a build without CUDA.
std::unique_ptr<stage_trainer> make_cuda_trainer(int device, std::chrono::nanoseconds forward);

}  // namespace lull
