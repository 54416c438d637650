// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include <lull/graph/csr/csr.hpp>
#include <lull/tests/graph/triangle_graphs.hpp>

namespace lull::test {

/// One vertex after the other, always one with the fewest neighbours left; edges without a direction, each once.
///
/// Source: Batagelj, Zaveršnik, "An O(m) algorithm for cores decomposition of networks", 2003; here with a set.
inline std::vector<std::uint32_t> core_numbers(csr const& graph) {
  neighbour_sets const neighbours = neighbours_of(graph);
  std::set<std::pair<std::size_t, std::uint32_t>> left;
  std::vector<std::size_t> degree;
  for (std::uint32_t vertex = 0; vertex < graph.vertices(); ++vertex) {
    degree.push_back(neighbours[vertex].size());
    left.insert({degree[vertex], vertex});
  }
  std::vector<std::uint32_t> made(graph.vertices());
  for (std::size_t level = 0; !left.empty();) {
    auto const [fewest, vertex] = *left.begin();
    left.erase(left.begin());
    level = std::max(level, fewest);
    made[vertex] = static_cast<std::uint32_t>(level);
    for (std::uint32_t const other : neighbours[vertex]) {
      if (left.erase({degree[other], other}) != 0) left.insert({--degree[other], other});
    }
  }
  return made;
}

}  // namespace lull::test
