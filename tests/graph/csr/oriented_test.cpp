// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <lull/graph/csr/degrees.hpp>
#include <lull/graph/csr/oriented.hpp>
#include <lull/tests/graph/triangle_graphs.hpp>

namespace lull {
namespace {

/// Each promise of oriented_graph, against sets made another way.
void expect_oriented(csr const& graph) {
  oriented_graph const made = orient(graph);
  ASSERT_NO_THROW(validate(made.rows));
  ASSERT_EQ(made.rows.vertices(), graph.vertices());
  ASSERT_EQ(made.vertex.size(), graph.vertices());
  EXPECT_TRUE(made.rows.weights.empty());
  auto degrees = in_degrees(graph);
  for (std::size_t vertex = 0; vertex < degrees.size(); ++vertex) {
    degrees[vertex] += graph.offsets[vertex + 1] - graph.offsets[vertex];
  }
  for (std::size_t at = 1; at < made.vertex.size(); ++at) {
    auto const before = made.vertex[at - 1];
    auto const vertex = made.vertex[at];
    EXPECT_TRUE(degrees[before] > degrees[vertex] || (degrees[before] == degrees[vertex] && before < vertex)) << at;
  }
  test::neighbour_sets neighbours = test::neighbours_of(graph);
  for (std::uint32_t row = 0; row < made.rows.vertices(); ++row) {
    auto const begin = made.rows.offsets[row];
    auto const end = made.rows.offsets[row + 1ULL];
    EXPECT_LE(static_cast<double>(end - begin), std::sqrt(2 * static_cast<double>(graph.edges())));
    for (auto at = begin; at < end; ++at) {
      auto const target = made.rows.targets[at];
      EXPECT_LT(target, row);
      EXPECT_TRUE(at == begin || made.rows.targets[at - 1] < target) << row;
      EXPECT_EQ(neighbours[made.vertex[row]].erase(made.vertex[target]), 1U);
      EXPECT_EQ(neighbours[made.vertex[target]].erase(made.vertex[row]), 1U);
    }
  }
  for (auto const& left : neighbours) EXPECT_TRUE(left.empty()) << "an edge is missing";
}

TEST(oriented, has_each_edge_once_towards_the_higher_degree) {
  for (auto const& [name, graph] : test::triangle_graphs()) {
    SCOPED_TRACE(name);
    expect_oriented(graph);
  }
}

TEST(oriented, numbers_hubs_among_themselves) {  // degrees that are compared, not counted
  test::edges edges;
  for (std::uint32_t vertex = 0; vertex < 70'000; ++vertex) {
    edges.push_back({vertex, 70'000});
    edges.push_back({vertex, 70'001});
    if (vertex % 100 != 0) edges.push_back({70'002, vertex});
  }
  edges.push_back({70'001, 70'001});
  oriented_graph const made = orient(test::graph_of(70'003, edges));
  EXPECT_EQ(made.vertex[0], 70'001U);
  EXPECT_EQ(made.vertex[1], 70'000U);
  EXPECT_EQ(made.vertex[2], 70'002U);
  EXPECT_EQ(made.vertex[3], 1U);
  EXPECT_EQ(made.vertex.back(), 69'900U);
  EXPECT_EQ(made.rows.edges(), edges.size() - 1);
}

TEST(oriented, is_the_same_on_any_number_of_threads) {
  csr const graph = generate_kronecker({.scale = 13});
  oriented_graph const expected = orient(graph, 1);
  for (unsigned const threads : {2U, 5U, 0U}) {
    oriented_graph const made = orient(graph, threads);
    EXPECT_TRUE(made.rows == expected.rows) << threads;
    EXPECT_TRUE(made.vertex == expected.vertex) << threads;
  }
}

}  // namespace
}  // namespace lull
