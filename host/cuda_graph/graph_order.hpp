// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lull {

/// An edge from one node to another, by their numbers.
using graph_edge = std::pair<std::uint32_t, std::uint32_t>;

/// Returns an order in which every node comes after those that it depends on. Among several the smallest number comes
/// first, so the same graph always has the same order. Each piece of the order is closed: what its nodes depend on is
/// in it or before it. Throws usage_error for a cycle.
std::vector<std::uint32_t> topological_order(std::uint32_t count, std::span<graph_edge const> edges);

/// Returns how many nodes each segment has, from the time of each node, in order. A segment takes about `wanted`, give
/// or take half a node. A node that takes longer is a segment of its own.
std::vector<std::uint32_t> cut_by_time(std::span<std::chrono::nanoseconds const> nodes,
                                       std::chrono::nanoseconds wanted);

/// Returns how many segments each stretch holds, from the time of each segment. A stretch takes about ten times
/// `wanted`, but at most a fifth of the graph, so that it has ended long before it is launched again. Empty if the
/// graph is too short for that.
std::vector<std::uint32_t> stretches_of(std::span<std::chrono::nanoseconds const> segments,
                                        std::chrono::nanoseconds wanted);

/// Returns how long nodes take, from two moments before them and one after each. The time between the first two, or
/// that of the shortest node, is the stamp's own, less a microsecond that every kernel takes.
std::vector<std::chrono::nanoseconds> without_stamps(std::span<std::uint64_t const> stamps_ns);

}  // namespace lull
