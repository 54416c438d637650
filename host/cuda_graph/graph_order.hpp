// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lull {

/// From one node to another, by their numbers.
using graph_edge = std::pair<std::uint32_t, std::uint32_t>;

/// An order in which every node comes behind those that it depends on; of several the one with the smallest numbers
/// first, so it is the same for the same graph. Each piece of it is closed: what a node of it depends on is in it, or
/// before it. Throws usage_error for a cycle.
std::vector<std::uint32_t> topological_order(std::uint32_t count, std::span<graph_edge const> edges);

/// How many nodes each segment has, given how long each node takes, in order: as many as take about `wanted` together,
/// so half a node more or less. A node that takes longer stands alone.
std::vector<std::uint32_t> cut_by_time(std::span<std::chrono::nanoseconds const> nodes,
                                       std::chrono::nanoseconds wanted);

/// How many segments each stretch holds, given how long each segment takes: as many as take about ten times `wanted`,
/// but a fifth of all at most, so that one has long ended before it comes again. Empty where the graph is too short for
/// that.
std::vector<std::uint32_t> stretches_of(std::span<std::chrono::nanoseconds const> segments,
                                        std::chrono::nanoseconds wanted);

/// How long nodes take, given two moments before them, then one behind each. What lies between the first two, or what
/// the shortest node took, is the stamp's, but for a microsecond that no kernel does without.
std::vector<std::chrono::nanoseconds> without_stamps(std::span<std::uint64_t const> stamps_ns);

}  // namespace lull
