// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <lull/host/bubble.hpp>
#include <lull/host/report/bubble_summary.hpp>

namespace lull {

/// Moments begin here, as on a real clock: 0 would be one that is not known.
inline constexpr std::int64_t begin_ns = 1'000'000'000;

struct observed_bubble {
  std::uint32_t gate = 0;
  std::string site = "recv";
  std::chrono::nanoseconds at{0};  // since begin_ns
  std::chrono::nanoseconds length{0};
  std::optional<bool> host_ahead{};
};

inline bubble_report observed(observed_bubble const& one) {
  bubble_report bubble;
  bubble.gate = one.gate;
  bubble.site = one.site;
  bubble.length = one.length;
  bubble.opened_ns = begin_ns + one.at.count();
  bubble.host_ahead = one.host_ahead;
  return bubble;
}

/// Four blocks worked in it: from 10 µs after the opening until 20 µs after its end, each for the time between.
inline bubble_report harvested(observed_bubble const& one) {
  bubble_report bubble = observed(one);
  auto const length_ns = static_cast<std::uint64_t>(one.length.count());
  bubble.current.launched = 4;
  bubble.current.record.blocks = 4;
  bubble.current.record.opened_ns = 77;  // another clock
  bubble.current.record.in_ns = 4 * 10'000;
  bubble.current.record.last_out_ns = 77 + length_ns + 20'000;
  bubble.current.record.stay_ns = 4 * (length_ns + 10'000);
  bubble.current.record.items = 1000;
  bubble.current.record.chunks = 100;
  bubble.current.record.handed_back = 3;
  bubble.current.record.lease_blocks = 2;
  bubble.waited = std::chrono::microseconds{250};
  return bubble;
}

/// Two gates over a second: "forward" of 1 ms and, ten times longer, "backward" on gate 0, hosts ahead but for every
/// fifth; on gate 1 "forward" of 20 µs.
inline bubble_summary two_gates(summary_settings settings = {}) {
  using namespace std::chrono_literals;
  bubble_summary sum{settings};
  for (int i = 0; i < 10; ++i) {
    auto const step = i * 100ms;
    sum.add(observed({0, "forward", step, 1ms, i % 5 != 0}));
    sum.add(observed({0, "backward", step + 50ms, 10ms, true}));
    sum.add(observed({1, "forward", step + 5ms, 20us, false}));
  }
  return sum;
}

}  // namespace lull
