// SPDX-License-Identifier: Apache-2.0
// What the verifier takes and what it refuses, on results written out by hand.
#include <gtest/gtest.h>

#include <bit>
#include <lull/graph/sssp/verify_sssp.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <string>
#include <vector>

namespace lull {
namespace {

using found = std::vector<sssp_found>;
using test::rows;
constexpr sssp_found unreached{};

/// 0 → 1 (1), 0 → 2 (3), 1 → 2 (2), 1 → 3 (0), 3 → 1 (0), 2 → 4 (1), 3 → 4 (9); nothing leads to 5, which leads to 4.
csr diamond() { return rows({{1, 2}, {2, 3}, {4}, {1, 4}, {}, {4}}, {1, 3, 2, 0, 1, 0, 9, 1}); }
found const right{{0, 0}, {1, 0}, {3, 0}, {1, 1}, {4, 2}, unreached};

sssp_verdict verdict_on(found const& results) { return verify_sssp(diamond(), weight_kind::whole, 0, results); }
std::string fault_of(std::uint32_t vertex, sssp_found const& wrong) {
  found results = right;
  results[vertex] = wrong;
  sssp_verdict const verdict = verdict_on(results);
  EXPECT_FALSE(verdict.ok);
  return verdict.message;
}

TEST(verify_sssp, takes_the_one_result) {
  sssp_verdict const verdict = verdict_on(right);
  EXPECT_TRUE(verdict.ok) << verdict.message;
  EXPECT_EQ(verdict.message, "5 of 6 vertices reached, distance 4, 2 edges; the nearest by Dijkstra, too");
  EXPECT_EQ(verdict.reached, 5U);
  EXPECT_EQ(verdict.farthest, 4);
  EXPECT_EQ(verdict.hops, 2U);
}

TEST(verify_sssp, refuses_distances) {
  EXPECT_EQ(fault_of(4, {5, 2}),
            "vertex 4 (distance 5) is nearer: an edge leads to it from vertex 2 (distance 3), which makes 4");
  EXPECT_EQ(fault_of(4, {3, 2}),
            "vertex 4 (distance 3) has as its parent vertex 2 (distance 3), from which no edge makes that");
  EXPECT_EQ(fault_of(0, {1, 0}), "the source is vertex 0 (distance 1), but its distance must be 0");
  EXPECT_NE(fault_of(4, unreached).find("is nearer"), std::string::npos);
  EXPECT_NE(fault_of(5, {7, 4}).find("no edge makes that"), std::string::npos);
}

TEST(verify_sssp, refuses_parents) {
  EXPECT_EQ(fault_of(0, {0, 1}), "the source, vertex 0, must be its own parent");
  EXPECT_EQ(fault_of(5, {sssp_found::unreached, 4}), "vertex 5 (not reached) has a parent, vertex 4");
  EXPECT_EQ(fault_of(4, {4, 6}), "vertex 4 (distance 4) has no vertex as its parent: 6");
  EXPECT_EQ(fault_of(1, {1, 1}), "vertex 1 (distance 1) is its own parent, but is not the source");
  EXPECT_EQ(fault_of(2, {3, 1}), "vertex 2 (distance 3) has 2 hops, but one more than vertex 0 (distance 0) are 1");
  EXPECT_NE(fault_of(4, {4, 3}).find("no edge makes that"), std::string::npos);
  EXPECT_EQ(fault_of(1, {1, 3}), "the parents of vertex 1 (distance 1) make a cycle");
}

TEST(verify_sssp, refuses_a_parent_that_is_not_the_lowest) {
  csr const graph = rows({{1, 2}, {3}, {3}, {}}, {1, 1, 1, 1});
  EXPECT_TRUE(verify_sssp(graph, weight_kind::whole, 0, found{{0, 0}, {1, 0}, {1, 0}, {2, 1}}).ok);
  EXPECT_EQ(verify_sssp(graph, weight_kind::whole, 0, found{{0, 0}, {1, 0}, {1, 0}, {2, 2}}).message,
            "vertex 3 (distance 2) has as its parent vertex 2 (distance 1), but 1 is as good, and lower");
}

TEST(verify_sssp, adds_floats_as_floats) {
  auto const bits = [](float value) { return std::uint64_t{std::bit_cast<std::uint32_t>(value)}; };
  csr const graph = rows({{1}, {2}, {3}, {}}, {16777216, 1, 0.5F});
  found results{{0, 0}, {bits(16777216), 0}, {bits(16777216), 1}, {bits(16777216), 2}};
  sssp_verdict const verdict = verify_sssp(graph, weight_kind::real, 0, results);
  EXPECT_TRUE(verdict.ok) << verdict.message;
  EXPECT_EQ(verdict.hops, 3U);
  results[3].distance = bits(16777218);
  EXPECT_FALSE(verify_sssp(graph, weight_kind::real, 0, results).ok);
}

TEST(verify_sssp, texts_tell_distances_apart) {
  EXPECT_EQ(text_of_distance(sssp_found::unreached, weight_kind::whole), "inf");
  EXPECT_EQ(text_of_distance(sssp_found::unreached, weight_kind::real), "inf");
  EXPECT_EQ(text_of_distance(1'000'000'000'007, weight_kind::whole), "1000000000007");
  EXPECT_EQ(text_of_distance(std::bit_cast<std::uint32_t>(0.1F), weight_kind::real), "0.100000001");
}

TEST(verify_sssp, refuses_what_it_cannot_judge) {
  EXPECT_THROW(verify_sssp(diamond(), weight_kind::whole, 6, right), usage_error);
  EXPECT_THROW(verify_sssp(diamond(), weight_kind::whole, 0, found(5)), usage_error);
  EXPECT_THROW(verify_sssp(rows({{0}}), weight_kind::whole, 0, found(1)), usage_error);
}

}  // namespace
}  // namespace lull
