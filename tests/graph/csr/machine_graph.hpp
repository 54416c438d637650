// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <lull/graph/csr/degrees.hpp>
#include <lull/graph/csr/machine_csr.hpp>
#include <lull/graph/csr/transpose.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <string>
#include <utility>
#include <vector>

namespace lull::test {

/// A machine's transpose and degrees are those of host memory, element for element, and it keeps nothing.
inline void expect_as_on_host(executor& executor, csr const& graph) {
  ASSERT_NO_THROW(validate(graph));
  auto const list = [](host_array<std::uint64_t> const& degrees) {
    return std::vector<std::uint64_t>(degrees.begin(), degrees.end());
  };
  machine_csr const there{executor, graph};
  EXPECT_TRUE(read(executor, there) == graph);
  csr const turned = read(executor, transpose(executor, there));
  EXPECT_NO_THROW(validate(turned));
  EXPECT_TRUE(turned == transpose(graph));
  EXPECT_EQ(out_degrees(executor, there).read(), list(out_degrees(graph)));
  EXPECT_EQ(in_degrees(executor, there).read(), list(in_degrees(graph)));
  EXPECT_TRUE(read(executor, there) == graph);  // only read
}

/// Targets that are neither symmetric nor sorted, hubs and long runs of empty rows among them, and weights that tell
/// equal edges apart.
inline csr lopsided(csr graph) {
  std::uint64_t random = 1;
  for (std::uint32_t& target : graph.targets) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    target = static_cast<std::uint32_t>((random >> 40) % (random >> 63 != 0 ? 3 : graph.vertices()));
  }
  graph.weights.resize(graph.edges());
  for (std::size_t edge = 0; edge < graph.edges(); ++edge) graph.weights[edge] = static_cast<float>(edge);
  return graph;
}

/// Graphs whose shape has gone wrong somewhere before, with a name each.
inline std::vector<std::pair<std::string, csr>> odd_graphs() {
  return {{"one vertex, no edges", rows({{}})},
          {"one vertex, a self-loop", rows({{0}})},
          {"one vertex, equal self-loops with weights", rows({{0, 0, 0}}, {3, 1, 2})},
          {"no edges", rows({{}, {}, {}, {}})},
          {"empty rows first and last", rows({{}, {}, {2}, {}, {2}, {}})},
          {"duplicates", rows({{1, 2, 1}, {}, {2, 0, 0, 2}})},
          {"duplicates with weights", rows({{1, 0, 1}, {1}}, {1, 2, 3, 4})},
          {"all into the last vertex", rows({{3, 3}, {3}, {3}, {3}})},
          {"small", generate_kronecker({.scale = 6})},                // sorted by one kernel
          {"lopsided", lopsided(generate_kronecker({.scale = 14}))},  // sorted by several
          {"uniform", generate_uniform({.scale = 12, .seed = 5})}};
}

}  // namespace lull::test
