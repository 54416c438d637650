// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <lull/host/measure/cuda/timed_stream.hpp>
#include <lull/host/runtime.hpp>

namespace lull::bench {

enum class trainer_stream { legacy, own };

/// A step: segments of short kernels, a bubble after each.
struct step_shape {
  int segments = 4;
  int kernels = 800;  // of a segment; the driver holds about a thousand launches, so more than that keeps the host from
                      // being ahead
  int kib = 792;      // of values that each kernel works on, in the L2
  int rounds = 128;   // … of the map on each value: a kernel lasts 2 to 3 µs
  std::uint64_t bubble_ns = 3'000'000;
  double jitter = 0;  // lengths are drawn uniformly from ± this share
  trainer_stream stream = trainer_stream::legacy;
  bool foreign = false;     // another stream of the program always has a wait pending, as NCCL's does
  bool host_bound = false;  // the host waits for the device before each bubble, so it is late
};

struct group_times {
  double step_ms = 0;             // mean over the group
  std::vector<double> kernel_ns;  // from kernel to kernel, mean over a segment; one a segment
  std::uint64_t bubbles = 0;      // …
  std::uint64_t bubbles_ns = 0;   // … and their lengths, as asked for
};

/// A trainer whose host enqueues before the device runs, with bubbles at known places.
class step_trainer {
 public:
  explicit step_trainer(step_shape const& shape);

  stream_handle stream() const noexcept { return own_.get(); }

  /// So many steps; a null `side`: no bubble is opened, and the stream waits as long. Lengths follow from the seed
  /// alone. Blocks.
  group_times group(runtime* side, int steps, std::uint64_t seed);
  /// A bubble of that length without training. Blocks.
  void solo(runtime& side, std::uint64_t ns);

 private:
  void segment(std::uint64_t* begin, std::uint64_t* end);
  void bubble(runtime* side, site where, std::uint64_t ns);
  void reserve(std::size_t segments);

  step_shape const shape_;
  cuda_stream own_;  // empty: the legacy default stream
  cuda_stream foreign_;
  cuda_event behind_segment_{event_timing::off};
  stream_timer timer_;
  std::vector<std::string> sites_;
  std::uint64_t count_ = 0;  // values
  device_buffer values_;
  device_buffer stamps_;      // (segments of a group, 2) u64: start of the first kernel, and of the last
  std::size_t capacity_ = 0;  // segments
};

}  // namespace lull::bench
