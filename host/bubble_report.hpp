// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <lull/device/trace.hpp>

namespace lull {

/// What a bubble adds to the time that side work took: from the opening until the last block was out; nothing where no block came, or
/// all only found that there was no input.
inline std::chrono::nanoseconds time_at_work(bubble_record const& record) noexcept {
  bool const only_starved = record.blocks == 0 && record.starved_blocks != 0;
  if (only_starved || record.last_out_ns <= record.opened_ns) return std::chrono::nanoseconds{0};
  return std::chrono::nanoseconds{record.last_out_ns - record.opened_ns};
}

/// One bubble as it was, for reports.
struct bubble_report {
  std::uint32_t gate = 0;
  std::string site;
  std::chrono::nanoseconds length{0};  // zero: not known
  std::int64_t opened_ns = 0;          // on the machine's clock
  std::optional<bool> host_ahead;      // the close was enqueued before the bubble opened; none: not known
  std::chrono::nanoseconds lease{0};
  std::uint64_t blocks = 0;  // launched for the job at hand
  bubble_record record{};    // without a word of blocks where none came
};

}  // namespace lull
