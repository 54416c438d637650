// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include <lull/host/bubble.hpp>
#include <lull/host/detail/gate/forecast.hpp>
#include <lull/host/executor.hpp>

namespace lull::detail {

/// What a place of a gate launches.
struct armed_worker {
  worker_kernel kernel;
  worker_grid grid;
  worker_params params;  // the slot is null: nothing is launched
};

/// Where measured bubbles go, and what is known in addition to their records.
struct collected_bubbles {
  std::deque<bubble_report>& into;
  device_clock& clock;            // learns the moments of bubbles that are over
  void const* at_work = nullptr;  // the kind of worker of the job that runs in graphs
};

/// A source of measured bubbles: the gate of a trainer's stream, or the captured graphs. Any thread may call `counts`;
/// only the dispatcher calls the rest.
class bubble_source {
 public:
  virtual ~bubble_source() = default;

  /// Enqueues copies of the records of bubbles that are over; returns false if there are none. Does not wait: on the
  /// device the copies may stand after what the trainer has enqueued.
  virtual bool begin_collecting(copy_lane& lane, bool at_the_end) = 0;
  /// Adds measured bubbles; called when the copies are done.
  virtual void collect(collected_bubbles const& to) = 0;
  /// Returns the length of the longest recent bubble.
  virtual std::chrono::nanoseconds longest() const = 0;
  /// Returns the site where a kernel of the trainer seems to have waited for our blocks since the last call.
  virtual std::optional<std::string> take_held_up() = 0;
  virtual runtime_counts counts() const = 0;
  /// Sets what a place launches. Graphs hold their workers from their capture on.
  virtual void arm(int, armed_worker) noexcept {}
  /// Returns whether a stream or a graph uses it.
  virtual bool is_taken() const noexcept { return true; }
};

}  // namespace lull::detail
