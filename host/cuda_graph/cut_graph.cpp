// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <numeric>

#include <lull/host/cuda_graph/graph_task.hpp>

namespace lull {

namespace {

constexpr std::size_t max_named = 3;

double us(std::chrono::nanoseconds time) { return std::chrono::duration<double, std::micro>{time}.count(); }

/// Returns the time of the piece at that share of the bubbles, pieces sorted by time.
double us_of(std::span<closed_piece const> by_time, std::uint64_t bubbles, double share) {
  auto left = static_cast<double>(bubbles) * share;
  for (closed_piece const& each : by_time) {
    left -= static_cast<double>(each.bubbles);
    if (left <= 0) return us(each.took);
  }
  return 0;
}

}  // namespace

std::string text_of(cut_graph const& cut) {
  char text[160];
  std::snprintf(text, sizeof text,
                "%u nodes in %u segments, %.1f us each in the mean; the longest node takes %.1f us: ", cut.nodes,
                cut.segments, cut.segments != 0 ? us(cut.step) / cut.segments : 0, us(cut.max_node));
  return text + cut.max_node_name;
}

std::string text_of(std::span<closed_piece const> pieces) {
  auto const bubbles = std::accumulate(pieces.begin(), pieces.end(), std::uint64_t{0},
                                       [](std::uint64_t sum, closed_piece const& each) { return sum + each.bubbles; });
  if (bubbles == 0) return "no bubble closed while it ran";
  std::vector<closed_piece> by_time{pieces.begin(), pieces.end()};
  std::sort(by_time.begin(), by_time.end(), [](auto const& one, auto const& other) { return one.took < other.took; });
  char text[200];
  std::snprintf(
      text, sizeof text,
      "%llu bubbles closed while it ran, and waited at most for what was under way: p50 %.1f us, p99 %.1f us, "
      "max %.1f us; most for",
      static_cast<unsigned long long>(bubbles), us_of(by_time, bubbles, 0.5), us_of(by_time, bubbles, 0.99),
      us(by_time.back().took));
  std::string line = text;
  for (closed_piece const& each : pieces.first(std::min(pieces.size(), max_named))) {
    std::snprintf(text, sizeof text, " %llu times %.1f us: ", static_cast<unsigned long long>(each.bubbles),
                  us(each.took));
    line += text + each.max_node_name + ';';
  }
  line.pop_back();
  return line;
}

}  // namespace lull
