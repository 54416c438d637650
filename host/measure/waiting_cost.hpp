// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lull {

/// A kernel of the trainer that starts so much later is slow.
inline constexpr double slow_wait_ns = 300;

/// Two chains of short kernels, one right after the other: with nothing that waits on the device, and with. Times are
/// from the start of a kernel to the start of the next.
struct waiting_row {
  std::size_t stream;  // which candidate for a worker's stream waited
  int waits;           // 1: it alone; 2: another stream of the program waited, too
  double base_ns;
  double with_ns;
};

/// How much later a kernel of the trainer starts, over the candidates; of each the median of its rows.
struct waiting_range {
  std::size_t streams = 0;  // that have rows
  double min_us = 0;
  double median_us = 0;
  double max_us = 0;
};

struct waiting_cost {
  std::string why_not;  // empty: all of it was measured
  double base_us = 0;   // median of all rows
  waiting_range one_wait = {};
  waiting_range two_waits = {};
};

waiting_cost summarise(std::span<waiting_row const> rows);

/// Measures in less than two seconds, on streams of its own; a device that is busy or fails becomes a reason in
/// `why_not`, and so does a missing one, at once. Blocks until the device is done.
waiting_cost measure_waiting(int device);

}  // namespace lull
