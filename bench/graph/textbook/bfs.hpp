// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <lull/bench/graph/textbook/memory.hpp>
#include <lull/bench/graph/textbook/textbook.hpp>

namespace lull::bench {

/// Breadth-first search for depths, level after level: from a frontier in a queue, and bottom-up, over bitmaps, while
/// the frontier is large. The result has 2³² - 1 where a vertex is not reached.
///
/// Sources: Beamer, Asanović, Patterson, "Direction-optimizing breadth-first search", SC 2012, sections 3 to 5; loop
/// and constants as in bfs.cc of the GAP benchmark suite (Beamer, Asanović, Patterson 2015). Top-down: Merrill,
/// Garland, Grimshaw, "Scalable GPU graph traversal", PPoPP 2012, section 5 (expand and contract in one kernel), with
/// the edges balanced as `expand` says.
std::unique_ptr<textbook> make_direction_optimising_bfs(csr const& graph, std::uint32_t source);

}  // namespace lull::bench
