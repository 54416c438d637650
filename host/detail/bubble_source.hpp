// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include <lull/host/bubble.hpp>
#include <lull/host/detail/forecast.hpp>
#include <lull/host/executor.hpp>

namespace lull::detail {

/// Where measured bubbles go, and what is known beside their records.
struct collected_bubbles {
  std::deque<bubble_report>& into;
  device_clock& clock;            // learns the moments of bubbles that are over
  void const* at_work = nullptr;  // the kind of worker of the job that stands in graphs
};

/// Where bubbles come from: the gate of a trainer's stream, or the graphs that were captured. `counts` comes from any
/// thread, the rest from the dispatcher.
class bubble_source {
 public:
  virtual ~bubble_source() = default;

  /// Enqueues copies of what is known of bubbles that are over; false: there are none. Does not wait: on the device the
  /// copies may stand after what the trainer has enqueued.
  virtual bool begin_collecting(copy_lane& lane, bool at_the_end) = 0;
  /// The copies are done: adds measured bubbles.
  virtual void collect(collected_bubbles const& to) = 0;
  /// The longest recent bubble.
  virtual std::chrono::nanoseconds longest() const = 0;
  /// The site where a kernel of the trainer waited for our blocks, as far as can be told, since it was asked last.
  virtual std::optional<std::string> take_held_up() = 0;
  virtual runtime_counts counts() const = 0;
};

}  // namespace lull::detail
