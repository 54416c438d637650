// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <lull/bench/graph/textbook/textbook.hpp>
#include <lull/graph/csr/csr.hpp>

namespace lull::bench {

/// Breadth-first search for depths, level after level: from a frontier in a queue, and bottom-up, over bitmaps, while
/// the frontier is large. The result has 2³² - 1 where a vertex is not reached.
///
/// Sources: Beamer, Asanović, Patterson, "Direction-optimizing breadth-first search", SC 2012, sections 3 to 5; loop
/// and constants as in bfs.cc of the GAP benchmark suite (Beamer, Asanović, Patterson 2015). Top-down: Merrill,
/// Garland, Grimshaw, "Scalable GPU graph traversal", PPoPP 2012, section 5 (expand and contract in one kernel), with
/// the edges balanced as `expand` says.
std::unique_ptr<textbook> make_direction_optimising_bfs(csr const& graph, std::uint32_t source);

/// Connected components, edges without a direction: of each vertex the lowest of its component. Here no loop waits for
/// the host.
///
/// Source: Sutton, Ben-Nun, Barak, "Optimizing parallel graph connectivity computation via subgraph sampling"
/// (Afforest), IPDPS 2018, section III; passes and constants as in cc.cc of the GAP benchmark suite.
std::unique_ptr<textbook> make_afforest(csr const& graph);

/// Triangles of an oriented graph (graph/csr/oriented.hpp): a warp an edge looks up each element of the shorter row in
/// the longer one, by binary search.
///
/// Source: Hu, Liu, Huang, "TriCore: parallel triangle counting on GPUs", SC 2018 (binary search by a warp
/// an edge; the top of the tree in shared memory). One launch; no loop waits for the host.
std::unique_ptr<textbook> make_tricore(csr const& oriented);

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
