// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda_graph/graph_order.hpp>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

#include <lull/device/gated_graph.hpp>
#include <lull/host/error.hpp>

namespace lull {

namespace {

/// The time between the starts of two short kernels of a graph, on an H200.
constexpr std::chrono::nanoseconds shortest{1'000};

}  // namespace

std::vector<std::uint32_t> topological_order(std::uint32_t count, std::span<graph_edge const> edges) {
  std::vector<std::vector<std::uint32_t>> behind(count);
  std::vector<std::uint32_t> before(count);
  for (auto const& [from, to] : edges) {
    behind[from].push_back(to);
    ++before[to];
  }
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t node = 0; node < count; ++node) {
    if (before[node] == 0) ready.push(node);
  }
  std::vector<std::uint32_t> order;
  order.reserve(count);
  while (!ready.empty()) {
    std::uint32_t const next = ready.top();
    ready.pop();
    order.push_back(next);
    for (std::uint32_t const node : behind[next]) {
      if (--before[node] == 0) ready.push(node);
    }
  }
  if (order.size() != count) throw usage_error{"the graph has a cycle: capture it again"};
  return order;
}

std::vector<std::uint32_t> cut_by_time(std::span<std::chrono::nanoseconds const> nodes,
                                       std::chrono::nanoseconds wanted) {
  std::vector<std::uint32_t> segments;
  std::chrono::nanoseconds length{0};
  for (auto const node : nodes) {
    if (segments.empty() || node > wanted || length + node / 2 > wanted) {
      segments.push_back(0);
      length = {};
    }
    ++segments.back();
    length += node;
  }
  return segments;
}

std::vector<std::uint32_t> stretches_of(std::span<std::chrono::nanoseconds const> segments,
                                        std::chrono::nanoseconds wanted) {
  auto const all = std::accumulate(segments.begin(), segments.end(), std::chrono::nanoseconds{0});
  auto stretches = cut_by_time(segments, std::min(10 * wanted, all / 5));
  if (stretches.size() < gated_graph::min_segments || stretches.size() == segments.size()) return {};
  return stretches;
}

std::vector<std::chrono::nanoseconds> without_stamps(std::span<std::uint64_t const> stamps_ns) {
  std::vector<std::uint64_t> took_ns;
  for (std::size_t at = 1; at < stamps_ns.size(); ++at) took_ns.push_back(stamps_ns[at] - stamps_ns[at - 1]);
  if (took_ns.empty()) return {};
  std::uint64_t const stamp_ns = *std::min_element(took_ns.begin(), took_ns.end());
  took_ns.erase(took_ns.begin());
  std::vector<std::chrono::nanoseconds> nodes;
  for (std::uint64_t const each : took_ns) nodes.push_back(shortest + std::chrono::nanoseconds{each - stamp_ns});
  return nodes;
}

}  // namespace lull
