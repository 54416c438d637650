// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <lull/device/trace.hpp>

namespace lull {

/// A worker costs the training stream two edges and takes some microseconds to start: a shorter bubble is not worth it.
inline constexpr std::chrono::nanoseconds min_bubble = std::chrono::microseconds{30};

/// The place of a bubble in the training step. The runtime keeps a history for each site.
struct site {
  constexpr explicit site(std::string_view its_name) noexcept : name(its_name) {}
  std::string_view name;
};

/// Identifies a bubble: `open` returns it, `close` takes it.
struct bubble_id {
  std::uint32_t gate = ~std::uint32_t{0};
  std::uint64_t bubble = 0;  // number on that gate, from 1; 0: nothing was opened
};

/// Returns the time that side work took in a bubble: from the opening until the last block was out. Zero where no block
/// came, or where all blocks only found that the task had no input.
inline std::chrono::nanoseconds time_at_work(bubble_record const& record) noexcept {
  bool const only_starved = record.blocks == 0 && record.starved_blocks != 0;
  if (only_starved || record.last_out_ns <= record.opened_ns) return std::chrono::nanoseconds{0};
  return std::chrono::nanoseconds{record.last_out_ns - record.opened_ns};
}

/// Returns whether blocks worked and all of them left by their lease, so that none saw the close.
inline bool all_left_by_lease(bubble_record const& record) noexcept {
  return record.blocks != 0 && record.lease_blocks >= record.blocks && record.not_saw_ns == 0;
}

/// What happened in one bubble.
struct bubble_report {
  std::uint32_t gate = 0;
  std::string site;
  std::chrono::nanoseconds length{0};  // zero: not known
  std::int64_t opened_ns = 0;          // on the machine's clock
  std::optional<bool> host_ahead;      // the close was enqueued before the bubble opened; none: not known
  bool armed = false;                  // its workers were enqueued before it opened
  std::chrono::nanoseconds lease{0};
  std::uint64_t blocks = 0;            // launched for the job at hand …
  std::uint64_t successor_blocks = 0;  // … and for its successor
  bubble_record record{};              // work of both jobs' workers; all block fields are 0 if no block came
  bubble_record successor{};           // the successor's part of `record`; edges write nothing here
};

/// Returns a sum over blocks as a share of the machine. Divides each job's part of the sum by the number of blocks
/// launched for that job. A late block of a successor may work in the next bubble, which has no successor; there it
/// counts as a block of the job at hand.
template <class Number>
double over_machine(bubble_report const& one, Number bubble_record::*sum) noexcept {
  auto const share = [](Number of_blocks, std::uint64_t launched) {
    return static_cast<double>(of_blocks) / static_cast<double>(std::max<std::uint64_t>(launched, 1));
  };
  Number const successors = one.successor.*sum;
  return share(one.record.*sum - successors, one.blocks) +
         share(successors, one.successor_blocks != 0 ? one.successor_blocks : one.blocks);
}

}  // namespace lull
