// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <lull/graph/csr/symmetric.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/tests/graph/edges_graph.hpp>
#include <lull/tests/graph/graph_file.hpp>

namespace lull {
namespace {

using namespace test;

TEST(symmetric, a_graph_without_edges_and_one_of_self_loops_are) {
  EXPECT_TRUE(is_symmetric(rows({{}})));
  EXPECT_TRUE(is_symmetric(rows({{}, {}})));
  EXPECT_TRUE(is_symmetric(rows({{0, 0}, {}, {2}})));
}

TEST(symmetric, each_edge_needs_one_the_other_way) {
  EXPECT_TRUE(is_symmetric(rows({{2, 1}, {0}, {0}})));
  EXPECT_FALSE(is_symmetric(rows({{2, 1}, {0}, {1}})));
  EXPECT_FALSE(is_symmetric(rows({{1}, {}})));
  EXPECT_FALSE(is_symmetric(rows({{}, {0}})));
  EXPECT_FALSE(is_symmetric(rows({{1}, {2}, {0}})));  // as many in as out
}

TEST(symmetric, how_many_there_are_of_each_does_not_matter) {
  EXPECT_TRUE(is_symmetric(rows({{1, 1, 1}, {0}})));
  EXPECT_TRUE(is_symmetric(rows({{1, 2, 1}, {0}, {0, 0}})));
  EXPECT_FALSE(is_symmetric(rows({{1, 2, 1}, {0, 0}, {}})));
}

TEST(symmetric, generated_graphs_are_and_one_edge_more_undoes_it) {
  for (unsigned const threads : {1U, 3U}) {
    for (csr graph : {generate_kronecker({.scale = 13}), generate_uniform({.scale = 13, .edge_factor = 2})}) {
      csr const given = graph;
      EXPECT_TRUE(is_symmetric(graph, threads));
      EXPECT_TRUE(graph == given);
      // A self-loop becomes an edge to where there was none.
      graph = graph_of(8192, beside(star_of(8192, 8000), {}, 0), mirror::all);
      EXPECT_TRUE(is_symmetric(graph, threads));
      graph.targets.back() = 17;
      EXPECT_FALSE(is_symmetric(graph, threads));
    }
  }
}

TEST(symmetrised, has_each_edge_in_both_directions) {
  EXPECT_TRUE(symmetrised(rows({{}, {}})) == rows({{}, {}}));
  EXPECT_TRUE(symmetrised(rows({{2, 1}, {0}, {}, {1}})) == rows({{2, 1, 1}, {0, 0, 3}, {0}, {1}}));
  csr const graph = graph_of(70'000, beside(star_of(40'000, 7), path_of(30'000), 40'000));
  csr const both = symmetrised(graph, 1);
  EXPECT_EQ(both.edges(), 2 * graph.edges());
  EXPECT_TRUE(is_symmetric(both));
  for (unsigned const threads : {2U, 5U, 0U}) EXPECT_TRUE(symmetrised(graph, threads) == both) << threads;
}

TEST(symmetric, rows_need_not_be_sorted) {
  csr const grid = graph_of(900, shuffled(grid_of(30), 900), mirror::all);
  EXPECT_TRUE(is_symmetric(grid));
  EXPECT_FALSE(is_symmetric(graph_of(900, shuffled(grid_of(30), 900))));
}

}  // namespace
}  // namespace lull
