// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/host/task/owner.hpp>
#include <span>

namespace lull {

struct betweenness_verdict : verification {
  double sum = 0;    // of all centralities, as the depths of searches give it
  double bound = 0;  // relative, of what a centrality or their sum may be off
};

/// Checks the betweenness that sources add to each vertex, over the edges of `out`, u → v in the row of u; a source
/// that is named twice counts twice. `found`: (vertices,) f64. By a search from each source, and the definition:
///   each value is finite and not negative, and is not above the number of vertices that are deeper than its vertex,
///   added up over the sources: so it is 0 where no search comes, or none goes on;
///   all values together are what the depths say: a shortest path to a vertex of depth d has d - 1 vertices on it;
///   of the highest value and of `drawn` other vertices, from which a search goes out as well, the value is
///     Σ over s and t of σ(s, v) σ(v, t) / σ(s, t), for t with depth(s, v) + depth(v, t) = depth(s, t).
/// Nothing comes back from deep levels here, unlike in Brandes's algorithm, and paths are counted as long doubles with
/// an exponent of their own.
///
/// `bound`: sums have positive terms only, so errors add up relatively. With at most c additions one after the other in
/// a vertex's sum and D levels, a count of paths is off by D c roundings; these cancel between a level and the next
/// but for the ends of a path, and each level adds c + 3 of its own. So it is D (3 c + 3) + the number of sources,
/// times 2^-53; c is 24 for each 64-fold of the greatest degree, as row_parts adds up, or the degree where that is
/// less. What this checks with is off by 2^-64 for each edge of a row, a level and a search. Twice the sum is the
/// bound.
///
/// What it does not see: values of vertices that it did not draw, changed so that their sum stays, within what the
/// depths allow.
///
/// One thread; verify_betweenness_bytes of memory. Throws usage_error for an invalid graph, no source, a source that is
/// none of its vertices, another number of values than of vertices.
///
/// Source: Freeman, "A set of measures of centrality based on betweenness", Sociometry 40, 1977 (the definition).
betweenness_verdict verify_betweenness(csr const& out, std::span<std::uint32_t const> sources,
                                       std::span<double const> found, std::uint64_t drawn = 2, std::uint64_t seed = 1);

/// What verifying takes, with the default number of drawn vertices.
std::uint64_t verify_betweenness_bytes(std::uint64_t vertices) noexcept;

}  // namespace lull
