// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <lull/graph/kcore/verify_kcore.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/edges_graph.hpp>
#include <lull/tests/graph/kcore/core_numbers.hpp>
#include <string>
#include <vector>

namespace lull {
namespace {

using namespace test;
using cores = std::vector<std::uint32_t>;

/// A triangle 0, 1, 2 with a tail 2 – 3 – 4, a clique 5 to 8, of which 8 is joined to 3, and 9 with a loop; some edges
/// twice.
csr small_graph() {
  return graph_of(10, {{0, 1},
                       {1, 2},
                       {2, 0},
                       {0, 2},
                       {2, 3},
                       {3, 4},
                       {3, 4},
                       {4, 4},
                       {4, 4},
                       {8, 3},
                       {5, 6},
                       {5, 7},
                       {5, 8},
                       {6, 7},
                       {6, 8},
                       {8, 7},
                       {9, 9}});
}
cores const right{2, 2, 2, 2, 1, 3, 3, 3, 3, 0};

TEST(verify_kcore, accepts_core_numbers) {
  auto const verdict = verify_kcore(small_graph(), right);
  EXPECT_TRUE(verdict.ok) << verdict.message;
  EXPECT_EQ(verdict.message, "each of 10 vertices has its core number; the largest is 3");
  EXPECT_TRUE(verify_kcore(graph_of(1, {}), cores{0}).ok);
  EXPECT_TRUE(verify_kcore(graph_of(3, {{1, 1}, {2, 2}}), cores(3, 0)).ok);
  EXPECT_TRUE(verify_kcore(graph_of(500, path_of(500)), cores(500, 1)).ok);
  EXPECT_TRUE(verify_kcore(graph_of(500, star_of(500, 250), mirror::all), cores(500, 1)).ok);
  EXPECT_TRUE(verify_kcore(graph_of(30, cliques_of(3, 10)), cores(30, 9)).ok);
}

TEST(verify_kcore, tells_which_number_is_wrong) {
  struct wrong {
    std::uint32_t vertex;
    std::uint32_t number;
    std::string says;
  };
  std::vector<wrong> const rows{
      {3, 3, "vertex 3 has the core number 3, but only 1 of its 3 neighbours have that or more"},
      {9, 1, "vertex 9 has the core number 1, but only 0 of its 0 neighbours have that or more"},
      {4, 2, "vertex 4 has the core number 2, but only 1 of its 1 neighbours have that or more"},
      {5, 0xffff'ffff, "vertex 5 has the core number 4294967295, but only 0 of its 3 neighbours have that or more"},
      {4, 0, "vertex 4 has the core number 0, but is in a subgraph whose vertices have 1 neighbours in it"},
  };
  for (wrong const& row : rows) {
    cores given = right;
    given[row.vertex] = row.number;
    auto const verdict = verify_kcore(small_graph(), given, 1);
    EXPECT_FALSE(verdict.ok) << row.says;
    EXPECT_EQ(verdict.message, row.says);
  }
}

/// Each vertex of a cycle has two neighbours in it, but none is alone in having one: only the second property sees it.
TEST(verify_kcore, rejects_numbers_that_are_all_too_small) {
  edges cycle = path_of(50);
  cycle.push_back({49, 0});
  EXPECT_TRUE(verify_kcore(graph_of(50, cycle), cores(50, 2)).ok);
  EXPECT_EQ(verify_kcore(graph_of(50, cycle), cores(50, 1)).message,
            "vertex 0 has the core number 1, but is in a subgraph whose vertices have 2 neighbours in it");
  EXPECT_FALSE(verify_kcore(graph_of(50, cycle), cores(50, 0)).ok);
  EXPECT_FALSE(verify_kcore(graph_of(50, cycle), cores(50, 3)).ok);
  cores of_clique(30, 9);
  for (std::uint32_t vertex = 0; vertex < 30; vertex += 3) of_clique[vertex] = 8;  // one of three cliques
  EXPECT_FALSE(verify_kcore(graph_of(30, cliques_of(3, 10)), of_clique).ok);
}

TEST(verify_kcore, rejects_every_other_number) {
  for (std::size_t vertex = 0; vertex < right.size(); ++vertex) {
    for (std::uint32_t number = 0; number < 6; ++number) {
      cores given = right;
      given[vertex] = number;
      EXPECT_EQ(verify_kcore(small_graph(), given).ok, number == right[vertex]) << vertex << " " << number;
    }
  }
  for (std::uint32_t some = 0; some < 1024; ++some) {  // and any of them one too small, several at a time
    cores given = right;
    bool same = true;
    for (std::size_t vertex = 0; vertex < right.size(); ++vertex) {
      if ((some >> vertex & 1) == 0 || given[vertex] == 0) continue;
      --given[vertex];
      same = false;
    }
    EXPECT_EQ(verify_kcore(small_graph(), given, 1).ok, same) << some;
  }
}

TEST(verify_kcore, agrees_with_the_definition_on_generated_graphs) {
  for (csr const& graph : {generate_kronecker({.scale = 9}), generate_uniform({.scale = 8})}) {
    cores given = core_numbers(graph);
    for (unsigned const threads : {1U, 3U}) EXPECT_TRUE(verify_kcore(graph, given, threads).ok);
    for (std::size_t vertex = 0; vertex < given.size(); vertex += 17) {
      ++given[vertex];
      EXPECT_FALSE(verify_kcore(graph, given).ok) << vertex;
      --given[vertex];
      if (given[vertex] == 0) continue;
      --given[vertex];
      EXPECT_FALSE(verify_kcore(graph, given).ok) << vertex;
      ++given[vertex];
    }
  }
}

TEST(verify_kcore, refuses_what_is_no_graph_and_no_result) {
  EXPECT_THROW(verify_kcore(small_graph(), cores(9, 0)), usage_error);
  EXPECT_THROW(verify_kcore({}, cores{}), usage_error);
  csr broken = small_graph();
  broken.targets[0] = 10;
  EXPECT_THROW(verify_kcore(broken, right), usage_error);
}

}  // namespace
}  // namespace lull
