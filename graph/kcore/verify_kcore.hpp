// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/graph/csr/csr.hpp>
#include <lull/host/task/owner.hpp>
#include <span>

namespace lull {

/// Checks the core numbers of a graph's vertices, its edges without a direction, duplicates and self-loops left out;
/// `cores`: (vertices,) u32. By two properties that no other numbers have together, without a level after the other:
///   a vertex with number k has k neighbours at least whose number is k or more: so all of number k or more are a
///   subgraph of that kind, and no number is too great;
///   among the vertices of number k, those go one by one that have k or fewer neighbours left with number k or more,
///   and all of them go. So none is in a subgraph whose vertices have more than k neighbours in it: of those with the
///   lowest number in that subgraph, the first to go would still have had them all. No number is too small.
/// `threads`: 0 for those of the machine; the second property is checked on one. Takes 12 bytes for each edge listed
/// and 28 for each vertex. Throws usage_error for an invalid graph, and for another number of results than of vertices.
///
/// Source: Seidman, "Network structure and minimum degree", Social Networks 5 (3), 1983 (the definition).
verification verify_kcore(csr const& graph, std::span<std::uint32_t const> cores, unsigned threads = 0);

}  // namespace lull
