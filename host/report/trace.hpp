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

/// An event on the time line, in the Trace Event Format that Perfetto and chrome://tracing read.
struct trace_event {
  using argument = std::variant<std::int64_t, double, std::string>;

  std::string track;  // "training", "bubbles", "workers", …; tracks are in order of first use
  std::string name;
  std::int64_t start_ns = 0;     // on any clock that all events share
  std::int64_t duration_ns = 0;  // 0: an instant, such as a yield
  std::vector<std::pair<std::string, argument>> args;
};

struct trace_settings {
  std::string process = "lull";
  std::string time = "device";         // whose clock: "device", or "cpu" on the threads executor
  std::uint64_t max_events = 200'000;  // about 25 MB; the earliest are kept
  std::uint64_t dropped = 0;           // events that were lost earlier
};

/// Returns the whole file as text. The time line starts at the earliest event. Events above the limit are left out.
/// They are counted, with `settings.dropped`, as otherData.dropped_events, which Perfetto shows under "Info and stats".
/// Errors: usage_error for a negative duration.
std::string trace_json(std::span<trace_event const> events, trace_settings const& settings);

/// Returns a message that names the trace's file, for a path with the ending .svg: until 0.2 Lull drew a timeline
/// there.
std::string instead_of_svg(std::filesystem::path path);

/// Writes the file atomically. Errors: as atomic_file.
void write_trace(std::filesystem::path const& path, std::span<trace_event const> events,
                 trace_settings const& settings);

}  // namespace lull
