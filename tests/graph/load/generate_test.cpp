// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <lull/graph/csr/degrees.hpp>
#include <lull/graph/csr/transpose.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/host/error.hpp>
#include <set>

#include <lull/tests/graph/graph_file.hpp>

namespace lull {
namespace {

csr with_sorted_rows(csr graph) {
  for (std::uint32_t vertex = 0; vertex < graph.vertices(); ++vertex) {
    std::sort(graph.targets.begin() + static_cast<std::ptrdiff_t>(graph.offsets[vertex]),
              graph.targets.begin() + static_cast<std::ptrdiff_t>(graph.offsets[vertex + 1ULL]));
  }
  return graph;
}

std::uint64_t fingerprint(csr const& graph) {  // FNV-1a, a word at a time
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  auto const add = [&](std::uint64_t word) { hash = (hash ^ word) * 0x100'0000'01b3; };
  std::for_each(graph.offsets.begin(), graph.offsets.end(), add);
  std::for_each(graph.targets.begin(), graph.targets.end(), add);
  return hash;
}

using generator = csr (*)(generate_options const&);
class generated_graph : public ::testing::TestWithParam<generator> {};
INSTANTIATE_TEST_SUITE_P(both, generated_graph, ::testing::Values(&generate_kronecker, &generate_uniform),
                         [](auto const& which) { return which.index == 0 ? "Kronecker" : "Uniform"; });

TEST_P(generated_graph, is_a_symmetric_graph_of_the_right_size) {
  for (unsigned const scale : {1U, 2U, 7U, 13U}) {  // one part of a block, and several blocks
    auto const graph = GetParam()({.scale = scale});
    validate(graph);
    EXPECT_EQ(graph.vertices(), 1U << scale);
    EXPECT_EQ(graph.edges(), 32ULL << scale);
    EXPECT_TRUE(graph.weights.empty());
    EXPECT_TRUE(with_sorted_rows(graph) == transpose(graph)) << scale;
    EXPECT_TRUE(out_degrees(graph) == in_degrees(graph));
  }
}

TEST_P(generated_graph, depends_on_the_seed_and_not_on_threads) {
  auto const graph = GetParam()({.scale = 13, .seed = 7, .threads = 1});
  for (unsigned const threads : {2U, 3U, 8U}) {
    EXPECT_TRUE(graph == GetParam()({.scale = 13, .seed = 7, .threads = threads})) << threads;
  }
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    seen.insert(fingerprint(GetParam()({.scale = 5, .seed = seed})));
  }
  EXPECT_EQ(seen.size(), 20);
}

TEST_P(generated_graph, takes_other_edge_factors) {
  EXPECT_EQ(GetParam()({.scale = 3, .edge_factor = 1}).edges(), 16);
  EXPECT_EQ(GetParam()({.scale = 3, .edge_factor = 256}).edges(), 4096);
}

TEST_P(generated_graph, refuses_what_is_outside_the_limits) {
  EXPECT_THROW(GetParam()({.scale = 0}), usage_error);
  EXPECT_THROW(GetParam()({.scale = 29}), usage_error);
  EXPECT_THROW(GetParam()({.scale = 64}), usage_error);
  EXPECT_THROW(GetParam()({.scale = 5, .edge_factor = 0}), usage_error);
  EXPECT_THROW(GetParam()({.scale = 5, .edge_factor = 257}), usage_error);
  EXPECT_THROW(GetParam()({.scale = 28, .edge_factor = 17}), usage_error);
}

TEST(generate_both, is_the_same_everywhere) {
  // Both numbers were also computed by a short Python program written from the comments alone.
  EXPECT_EQ(fingerprint(generate_kronecker({.scale = 10})), 0x8c97'556d'236a'830d);
  EXPECT_EQ(fingerprint(generate_uniform({.scale = 10})), 0x4ae4'3565'967f'e793);
}

/// Self-loops of each vertex, most first, as a share of the generated edges (each of which stands there twice).
std::vector<double> loop_shares(csr const& graph) {
  std::vector<double> shares;
  for (std::uint32_t vertex = 0; vertex < graph.vertices(); ++vertex) {
    auto const begin = graph.targets.begin() + static_cast<std::ptrdiff_t>(graph.offsets[vertex]);
    auto const end = graph.targets.begin() + static_cast<std::ptrdiff_t>(graph.offsets[vertex + 1ULL]);
    shares.push_back(static_cast<double>(std::count(begin, end, vertex)) / static_cast<double>(graph.edges()));
  }
  std::sort(shares.rbegin(), shares.rend());
  return shares;
}

TEST(generate_kronecker, quadrants_have_their_shares) {
  // With few vertices the shares can be seen: a loop at the first vertex takes quadrant A at each level, one at the
  // last D, in between A and D in turn. Means over seeds; each band is four standard deviations or more.
  std::vector<double> one(2), two(4);
  constexpr int seeds = 100;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    auto const of_one = loop_shares(generate_kronecker({.scale = 1, .edge_factor = 256, .seed = seed}));
    auto const of_two = loop_shares(generate_kronecker({.scale = 2, .edge_factor = 256, .seed = seed}));
    std::transform(one.begin(), one.end(), of_one.begin(), one.begin(), std::plus{});
    std::transform(two.begin(), two.end(), of_two.begin(), two.begin(), std::plus{});
  }
  EXPECT_NEAR(one[0] / seeds, 0.57, 0.009);
  EXPECT_NEAR(one[1] / seeds, 0.05, 0.004);
  EXPECT_NEAR(two[0] / seeds, 0.57 * 0.57, 0.006);
  EXPECT_NEAR((two[1] + two[2]) / seeds, 2 * 0.57 * 0.05, 0.004);
  EXPECT_NEAR(two[3] / seeds, 0.05 * 0.05, 0.001);
}

TEST(generate_kronecker, has_hubs_and_vertices_without_edges_in_any_place) {
  std::set<std::uint32_t> hubs;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    auto const degrees = out_degrees(generate_kronecker({.scale = 12, .seed = seed}));
    auto const hub = std::max_element(degrees.begin(), degrees.end());
    EXPECT_GT(*hub, 32 * 30);
    EXPECT_GT(std::count(degrees.begin(), degrees.end(), 0), 4096 / 10);
    hubs.insert(static_cast<std::uint32_t>(hub - degrees.begin()));
  }
  EXPECT_GE(hubs.size(), 9);  // renumbered: without that, each is vertex 0
  EXPECT_GT(*hubs.rbegin() - *hubs.begin(), 1024);
}

TEST(generate_uniform, has_no_hubs) {
  auto const degrees = out_degrees(generate_uniform({.scale = 12}));
  auto const [least, most] = std::minmax_element(degrees.begin(), degrees.end());
  EXPECT_GT(*least, 4);  // mean 32, standard deviation 5.7: over 4096 vertices within five of them
  EXPECT_LT(*most, 64);
  auto const half = std::count_if(degrees.begin(), degrees.end(), [](auto degree) { return degree > 32; });
  EXPECT_NEAR(static_cast<double>(half), 2048, 250);
}

TEST(generate_grid, joins_each_vertex_to_its_neighbours) {
  csr const three = generate_grid(3);
  validate(three);
  EXPECT_EQ(three,
            test::rows({{1, 3}, {0, 2, 4}, {1, 5}, {0, 4, 6}, {1, 3, 5, 7}, {2, 4, 8}, {3, 7}, {4, 6, 8}, {5, 7}}));
}

TEST(generate_grid, does_not_depend_on_threads) { EXPECT_EQ(generate_grid(70, 1), generate_grid(70, 4)); }

TEST(generate_grid, refuses_sides_outside_the_limits) {
  EXPECT_THROW(generate_grid(1), usage_error);
  EXPECT_THROW(generate_grid(16385), usage_error);
  EXPECT_EQ(generate_grid(2).edges(), 8U);
}

}  // namespace
}  // namespace lull
