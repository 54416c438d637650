// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <lull/graph/load/edge_weights.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <set>
#include <string>

namespace lull {
namespace {

using test::rows;

std::string refusal(std::vector<float> const& weights) {
  try {
    kind_of_weights(rows({{1, 0}, {0}}, weights));
  } catch (usage_error const& refused) {
    return refused.what();
  }
  return {};
}

TEST(kind_of_weights, is_whole_only_where_floats_are_exact) {
  EXPECT_EQ(kind_of_weights(rows({{1, 0}, {0}}, {0, 7, 16777216})), weight_kind::whole);
  EXPECT_EQ(kind_of_weights(rows({{1, 0}, {0}}, {0, 7, 0.5})), weight_kind::real);
  EXPECT_EQ(kind_of_weights(rows({{1, 0}, {0}}, {0, 7, 16777218})), weight_kind::real);
  EXPECT_EQ(kind_of_weights(rows({{1, 0}, {0}}, {0, 7, 0x1p+96F})), weight_kind::real);
}

TEST(kind_of_weights, refuses_what_no_path_can_have) {
  EXPECT_EQ(refusal({1, 2, 3}), "");
  EXPECT_EQ(refusal({1, -2, 3}), "the edge from vertex 0 to 0 weighs -2.000000: a weight must be from 0 to 2^96");
  EXPECT_NE(refusal({1, 2, 0x1.000002p+96F}).find("from vertex 1 to 0"), std::string::npos);
}

TEST(draw_weights, are_whole_and_each_is_as_likely) {
  csr graph = generate_uniform({.scale = 12});
  draw_weights(graph, 1, 4);
  std::size_t count[6]{};
  for (float const weight : graph.weights) ++count[static_cast<std::size_t>(weight)];
  EXPECT_EQ(count[0] + count[5], 0U);
  auto const quarter = static_cast<double>(graph.edges()) / 4;
  for (int weight = 1; weight <= 4; ++weight) EXPECT_NEAR(static_cast<double>(count[weight]), quarter, quarter / 20);
  EXPECT_EQ(kind_of_weights(graph), weight_kind::whole);
}

TEST(draw_weights, depend_on_the_seed_and_the_two_vertices) {
  csr first = rows({{1, 2, 1}, {0}, {0}});
  draw_weights(first, 1, 1U << 24, 1);
  EXPECT_EQ(first.weights[0], first.weights[2]);
  EXPECT_EQ(first.weights[0], first.weights[3]);
  EXPECT_EQ(first.weights[1], first.weights[4]);
  EXPECT_NE(first.weights[0], first.weights[1]);
  csr other = first;
  draw_weights(other, 2, 1U << 24);
  EXPECT_NE(other.weights[0], first.weights[0]);
  draw_weights(other, 1, 1U << 24);
  EXPECT_EQ(other.weights, first.weights);
}

TEST(draw_weights, do_not_depend_on_threads) {
  csr one = generate_kronecker({.scale = 13});
  csr four = one;
  draw_weights(one, 9, 255, 1);
  draw_weights(four, 9, 255, 4);
  EXPECT_EQ(one.weights, four.weights);
}

TEST(draw_weights, of_one_choice_are_one) {
  csr graph = generate_kronecker({.scale = 6});
  draw_weights(graph, 5, 1);
  EXPECT_EQ(std::count(graph.weights.begin(), graph.weights.end(), 1.0F), static_cast<std::ptrdiff_t>(graph.edges()));
  csr none = rows({{}, {}});
  draw_weights(none, 5, 1);
  EXPECT_TRUE(none.weights.empty());
}

TEST(near_far_delta, is_of_mean_weight_and_mean_degree) {
  EXPECT_DOUBLE_EQ(near_far_delta(rows({{1, 2}, {}, {0, 1}}, {1, 2, 3, 6})), 32 * 3.0 / 2);
  EXPECT_EQ(near_far_delta(rows({{1}, {0}}, {0, 0})), 1);
  EXPECT_EQ(near_far_delta(rows({{}, {}})), 1);
  csr graph = generate_uniform({.scale = 13});
  draw_weights(graph, 1, 255);
  for (float& weight : graph.weights) weight /= 7;
  EXPECT_EQ(near_far_delta(graph, 1), near_far_delta(graph, 4));
}

}  // namespace
}  // namespace lull
