// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <lull/graph/components/verify_components.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/edges_graph.hpp>

namespace lull {
namespace {

using namespace test;
using labels = std::vector<std::uint32_t>;

/// 0 – 4 – 2, 1 – 3 twice, 5 with itself, 6 alone; edges in one direction.
csr small_graph() { return graph_of(7, {{4, 0}, {2, 4}, {3, 1}, {3, 1}, {5, 5}}); }
labels const right{0, 1, 0, 1, 0, 5, 6};

TEST(verify_components, accepts_the_lowest_vertices_of_components) {
  auto const verdict = verify_components(small_graph(), right, 4);
  EXPECT_TRUE(verdict.ok) << verdict.message;
  EXPECT_EQ(verdict.components, 4U);
  EXPECT_EQ(verdict.message, "each of 7 vertices has the lowest vertex of its component as label; 4 components");
  EXPECT_TRUE(verify_components(graph_of(1, {}), labels{0}, 1).ok);
  EXPECT_TRUE(verify_components(graph_of(3, {}), labels{0, 1, 2}, 3).ok);
  EXPECT_TRUE(verify_components(graph_of(500, path_of(500)), labels(500, 0), 1).ok);
  EXPECT_TRUE(verify_components(graph_of(500, star_of(500, 499)), labels(500, 0), 1).ok);
  EXPECT_TRUE(verify_components(graph_of(500, turned(star_of(500, 250))), labels(500, 0), 1).ok);
}

TEST(verify_components, tells_each_way_in_which_a_result_is_wrong) {
  struct wrong {
    labels given;
    std::uint64_t components;
    std::string says;
  };
  std::vector<wrong> const rows{
      {{0, 1, 0, 1, 7, 5, 6}, 4, "vertex 4 has the label 7, but there are 7 vertices"},
      {{0, 1, 0, 1, 0xffff'ffff, 5, 6}, 4, "vertex 4 has the label 4294967295, but there are 7 vertices"},
      {{0, 1, 0, 0, 0, 5, 6},
       4,
       "vertex 3 has the label 0, which is in another component: the lowest vertex of its own is 1"},
      {{0, 0, 0, 0, 0, 5, 6},
       3,
       "vertex 1 has the label 0, which is in another component: the lowest vertex of its own is 1"},
      {{2, 1, 2, 1, 2, 5, 6}, 4, "vertex 0 has the label 2, but the lowest vertex of its component is 0"},
      {{0, 1, 2, 1, 0, 5, 6}, 5, "vertex 2 has the label 2, but the lowest vertex of its component is 0"},
      {{0, 1, 4, 1, 0, 5, 6}, 4, "vertex 2 has the label 4, but the lowest vertex of its component is 0"},
      {{0, 1, 0, 1, 0, 0, 6},
       4,
       "vertex 5 has the label 0, which is in another component: the lowest vertex of its own is 5"},
      {{0, 0, 0, 0, 0, 0, 0},
       1,
       "vertex 1 has the label 0, which is in another component: the lowest vertex of its own is 1"},
      {{0, 1, 2, 3, 4, 5, 6}, 7, "vertex 2 has the label 2, but the lowest vertex of its component is 0"},
      {right, 5, "5 components were counted, but the graph has 4"},
      {right, 3, "3 components were counted, but the graph has 4"},
  };
  for (wrong const& row : rows) {
    auto const verdict = verify_components(small_graph(), row.given, row.components);
    EXPECT_FALSE(verdict.ok) << row.says;
    EXPECT_EQ(verdict.message, row.says);
  }
}

/// Any label but the right one, at any vertex.
TEST(verify_components, rejects_every_other_label) {
  for (std::size_t vertex = 0; vertex < right.size(); ++vertex) {
    for (std::uint32_t label = 0; label < 9; ++label) {
      labels given = right;
      given[vertex] = label;
      EXPECT_EQ(verify_components(small_graph(), given, 4).ok, label == right[vertex]) << vertex << " " << label;
    }
  }
}

TEST(verify_components, refuses_what_is_no_graph_and_no_labels) {
  EXPECT_THROW(verify_components(small_graph(), labels(6, 0), 1), usage_error);
  EXPECT_THROW(verify_components({}, labels{}, 0), usage_error);
  csr broken = small_graph();
  broken.targets[0] = 7;
  EXPECT_THROW(verify_components(broken, right, 4), usage_error);
}

}  // namespace
}  // namespace lull
