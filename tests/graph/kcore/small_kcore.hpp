// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/graph/csr/csr.hpp>
#include <lull/graph/kcore/kcore.hpp>
#include <lull/tests/graph/edges_graph.hpp>

namespace lull {

/// Core numbers in items of 16 edges and 128 places, so that a graph small enough for a test reaches what large ones
/// do: many items a wave, hubs over many items, lists that are made shorter.
using small_kcore = basic_kcore<16, 32>;

namespace test {

/// Trees, a hub of `leaves`, cliques of several sizes with a gap between them, a grid, vertices without edges, all
/// beside each other and some joined; edges in one direction, some of them twice.
inline csr many_cores(std::uint32_t leaves) {
  edges made = star_of(leaves + 1, leaves / 2);
  std::uint32_t vertices = leaves + 1;
  auto const add = [&](edges const& part, std::uint32_t count) {
    made = beside(std::move(made), part, vertices);
    made.push_back({vertices, leaves / 2});
    vertices += count;
  };
  add(path_of(90), 90);
  add(grid_of(9), 81);
  for (std::uint32_t const size : {3U, 4U, 6U, 7U, 24U}) add(turned(cliques_of(1, size)), size);
  add(cliques_of(6, 5), 30);
  add({}, 3);
  for (std::uint32_t vertex = 0; vertex < vertices; vertex += 7) {
    made.push_back({vertex, vertex});
    made.push_back(made[vertex]);
    made.push_back({made[vertex].target, made[vertex].source});
  }
  return graph_of(vertices + 4, shuffled(std::move(made), vertices));
}

}  // namespace test
}  // namespace lull
