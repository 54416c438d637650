// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <lull/bench/graph/textbook/textbook.hpp>
#include <lull/graph/csr/csr.hpp>

namespace lull::bench {

/// What comes of a search: lengths alone; or also, after them and by one kernel over all edges, the lowest vertex that
/// the last edge of a shortest path leaves.
enum class sssp_results { distances, parents };

/// Lengths of the shortest paths from `source`; 2³² - 1 where there is none. Where all weights are whole numbers up to
/// 2²⁴ these are whole numbers, which must stay below 2³². Otherwise they are bits of floats: a length is summed up
/// from the source on and rounded at each edge, so it is the same however paths are found. The graph has weights, none
/// of them below zero. `delta`, above zero, is how far the near vertices reach; rounded up where weights are whole.
///
/// Source: Davidson, Baxter, Garland, Owens, "Work-efficient parallel GPU methods for single-source shortest paths",
/// IPDPS 2014 (near-far), with the edges balanced as `expand` says.
std::unique_ptr<textbook> make_near_far_sssp(csr const& graph, std::uint32_t source, double delta,
                                             sssp_results results);

}  // namespace lull::bench
