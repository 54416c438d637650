// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include <lull/device/trace.hpp>
#include <lull/host/executor.hpp>

namespace lull::detail {

/// The records of a gate's latest bubbles on the machine: (records,), each at its bubble's number modulo `records`.
struct record_ring {
  bubble_record* at = nullptr;
  std::uint64_t records = 0;

  /// Enqueues copies of the records of bubbles [from, past) into `to`, and of zeros into their places, for later
  /// bubbles. `to`: (past - from,), `zeros`: (records,), both pinned. Throws device_error.
  void take(copy_lane& lane, std::uint64_t from, std::uint64_t past, bubble_record* to,
            bubble_record const* zeros) const {
    for (std::uint64_t bubble = from; bubble < past;) {
      std::uint64_t const first = bubble % records;
      std::uint64_t const count = std::min(past - bubble, records - first);  // to the ring's end, then from its start
      lane.copy_out(to + (bubble - from), at + first, count * sizeof *at);
      lane.copy_in(at + first, zeros, count * sizeof *at);
      bubble += count;
    }
  }
};

}  // namespace lull::detail
