// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lull {

/// One thing on the time line, in the Trace Event Format that Perfetto and chrome://tracing read.
struct trace_event {
  using argument = std::variant<std::int64_t, double, std::string>;

  std::string track;  // a lane: "training", "bubbles", "workers", …; lanes stand in order of first use
  std::string name;
  std::int64_t start_ns = 0;     // on any clock that all events share
  std::int64_t duration_ns = 0;  // 0: an instant, such as a yield
  std::vector<std::pair<std::string, argument>> args;
};

struct trace_settings {
  std::string process = "lull";
  std::string time = "device";         // whose clock: "device", or "cpu" where threads stand for a GPU
  std::uint64_t max_events = 200'000;  // about 25 MB; the earliest are kept
  std::uint64_t dropped = 0;           // events that were lost before they came here
};

/// The whole file as text. The time line begins at the earliest event. Events above the limit are left out and counted,
/// with `settings.dropped`, as otherData.dropped_events, which Perfetto shows under "Info and stats".
/// Errors: usage_error for a negative duration.
std::string trace_json(std::span<trace_event const> events, trace_settings const& settings);

/// Says what to do instead of writing an SVG timeline, which Lull did until 0.2: names the trace's file.
std::string instead_of_svg(std::filesystem::path path);

/// Atomically. Errors: as atomic_file.
void write_trace(std::filesystem::path const& path, std::span<trace_event const> events,
                 trace_settings const& settings);

}  // namespace lull
