// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>

namespace lull {

/// How the weights of a graph add up along a path.
enum class weight_kind : std::uint32_t {
  whole,  // all are whole numbers, which floats hold exactly: sums are exact
  real    // sums are floats, rounded at each edge
};

/// Weights as shortest paths take them: whole numbers up to this, or floats up to this.
inline constexpr std::uint32_t max_whole_weight = 1U << 24;
inline constexpr float max_real_weight = 0x1p+96F;  // so that no sum over 2^31 edges is infinite

/// Which kind the graph's weights are. The graph must be valid and have weights. Throws usage_error, with the edge, for
/// one that is negative or above `max_real_weight`.
weight_kind kind_of_weights(csr const& graph, unsigned threads = 0);

/// Gives a graph without weights whole ones, each from 1 to `max` as likely as any other. They depend on the seed and
/// on the two vertices, whichever the edge leaves: an edge weighs as much as those beside it and as the one back.
/// `threads`: 0 for those of the machine; the weights do not depend on it. Throws std::bad_alloc.
void draw_weights(csr& graph, std::uint64_t seed, std::uint32_t max, unsigned threads = 0);

/// How far a bucket of shortest paths reaches by default: 32 × mean weight ÷ mean degree of the vertices with edges; 1
/// where that is 0 or there are no edges. The graph must be valid and have weights. `threads`: 0 for those of the
/// machine; the result does not depend on it.
///
/// Source: Davidson, Baxter, Garland, Owens, "Work-efficient parallel GPU methods for single-source shortest paths",
/// IPDPS 2014: 32 is the width of a warp.
double near_far_delta(csr const& graph, unsigned threads = 0);

}  // namespace lull
