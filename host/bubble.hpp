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

/// Where in the step a bubble is; history is kept for each.
struct site {
  constexpr explicit site(std::string_view its_name) noexcept : name(its_name) {}
  std::string_view name;
};

/// What `open` returns and `close` takes.
struct bubble_id {
  std::uint32_t gate = ~std::uint32_t{0};
  std::uint64_t bubble = 0;  // number on that gate, from 1; 0: nothing was opened
};

/// What a bubble adds to the time that side work took: from the opening until the last block was out; nothing where no
/// block came, or all only found that there was no input.
inline std::chrono::nanoseconds time_at_work(bubble_record const& record) noexcept {
  bool const only_starved = record.blocks == 0 && record.starved_blocks != 0;
  if (only_starved || record.last_out_ns <= record.opened_ns) return std::chrono::nanoseconds{0};
  return std::chrono::nanoseconds{record.last_out_ns - record.opened_ns};
}

/// Blocks worked, and each of them left by its lease: none saw the close.
inline bool all_left_by_lease(bubble_record const& record) noexcept {
  return record.blocks != 0 && record.lease_blocks >= record.blocks && record.not_saw_ns == 0;
}

/// One bubble as it was, for reports.
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
  bubble_record record{};              // what both did; without a word of blocks where none came
  bubble_record successor{};           // of it, what the successor did; no edge writes into this one
};

/// A sum over blocks, in shares of the machine: one block of a job is the less the more were launched for it. A block
/// that comes late works in the bubble behind its own, where there may be no successor any more: then it counts as
/// those of the job at hand.
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
