// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <lull/apps/lull/statistics.hpp>

namespace lull {

struct timeline_span {
  enum class kind { forward, backward, bubble, side_work };

  kind what;
  std::int64_t start_ns;  // since its lane began
  std::int64_t duration_ns;
  std::string label;  // short: a micro-batch's number, a task's name; drawn where it fits
};

/// What one device did for a few iterations. Side work lies inside bubbles; what a bubble holds beyond it was idle.
struct timeline_lane {
  std::vector<timeline_span> spans;               // in any order
  std::vector<std::int64_t> iteration_starts_ns;  // since the lane began, ascending; the first is usually 0
};

/// The same iterations twice, from the same origin, so that what side work cost can be seen at the right end.
struct timeline {
  std::string subtitle;   // what ran, and where
  bool cpu_time = false;  // threads stand for a GPU, and the picture says so
  std::optional<double> slowdown_pct;
  std::optional<interval95> ci95_pct;
  std::optional<double> harvest_ratio;
  timeline_lane without;
  timeline_lane with;
  std::string with_title = "Training with side work in its bubbles";
};

/// One self-contained SVG, 1,200 units wide, on white. Draws at most 4,000 spans a lane: beyond that both lanes end at
/// the same earlier time, and a line says so. A lane without spans is drawn empty.
/// Errors: usage_error for a span that starts before its lane or has a negative duration.
std::string timeline_svg(timeline const& drawn);

/// Atomically. Errors: as atomic_file.
void write_timeline(std::filesystem::path const& path, timeline const& drawn);

}  // namespace lull
