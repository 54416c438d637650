// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/csr/edge_list.hpp>
#include <lull/host/error.hpp>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>

#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/support/effort.hpp>

namespace lull {
namespace {

using test::rows;

TEST(validate, accepts_graphs) {
  EXPECT_NO_THROW(validate(rows({{}})));
  EXPECT_NO_THROW(validate(rows({{0, 0}, {}, {1, 2, 1}})));
  EXPECT_NO_THROW(validate(rows({{0, 1}, {}}, {-1.0F, 0.0F})));
}

TEST(validate, names_the_fault) {
  struct fault {
    std::string expected;
    std::function<void(csr&)> spoil;
  };
  std::vector<fault> const faults = {
      {"no vertices", [](csr& graph) { graph = csr{}; }},
      {"no vertices", [](csr& graph) { graph.offsets.resize(1); }},
      {"start at 1", [](csr& graph) { graph.offsets[0] = 1; }},
      {"fall at vertex 2", [](csr& graph) { graph.offsets[1] = 3; }},
      {"end at 4, but it has 3", [](csr& graph) { graph.offsets[3] = 4; }},
      {"end at 3, but it has 2", [](csr& graph) { graph.targets.pop_back(); }},
      {"edge 2 leads to vertex 3, but there are only 3", [](csr& graph) { graph.targets[2] = 3; }},
      {"2 weights for 3 edges",
       [](csr& graph) {
         graph.weights = {1, 2};
       }},
      {"weight of edge 1 is not finite",
       [](csr& graph) {
         graph.weights = {1, std::numeric_limits<float>::infinity(), 1};
       }},
      {"weight of edge 2 is not finite",
       [](csr& graph) {
         graph.weights = {1, 1, std::numeric_limits<float>::quiet_NaN()};
       }},
  };
  for (auto const& [expected, spoil] : faults) {
    auto graph = rows({{1, 2}, {}, {0}});
    ASSERT_NO_THROW(validate(graph));
    spoil(graph);
    try {
      validate(graph);
      ADD_FAILURE() << "accepted: " << expected;
    } catch (usage_error const& error) {
      EXPECT_NE(std::string{error.what()}.find(expected), std::string::npos) << error.what();
    }
  }
}

TEST(csr, ref_points_at_the_owner) {
  auto const graph = rows({{1}, {0, 1}}, {1, 2, 3});
  auto const ref = graph.ref();
  EXPECT_EQ(ref.offsets, graph.offsets.data());
  EXPECT_EQ(ref.targets, graph.targets.data());
  EXPECT_EQ(ref.weights, graph.weights.data());
  EXPECT_EQ(ref.edges, 3);
  EXPECT_EQ(ref.vertices, 2);
  EXPECT_EQ(rows({{}}).ref().weights, nullptr);
  EXPECT_EQ(graph.size_bytes(), 3 * 8 + 3 * 4 + 3 * 4);
}

/// What make_csr should give, made the obvious way.
csr naive(edge_list const& list, std::uint32_t vertices, mirror mirrored) {
  struct weighted_edge {
    std::uint32_t source, target;
    float weight;
  };
  std::vector<weighted_edge> edges;
  for (auto const& block : list.blocks) {
    for (std::size_t at = 0; at < block.edges.size(); ++at) {
      auto const [source, target] = block.edges[at];
      auto const weight = list.weighted ? block.weights[at] : 0.0F;
      edges.push_back({source, target, weight});
      if (mirrored == mirror::all || (mirrored == mirror::off_diagonal && source != target)) {
        edges.push_back({target, source, weight});
      }
    }
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](auto const& left, auto const& right) { return left.source < right.source; });
  csr graph;
  graph.offsets.assign(vertices + 1ULL, 0);
  for (auto const& [source, target, weight] : edges) {
    ++graph.offsets[source + 1ULL];
    graph.targets.push_back(target);
    if (list.weighted) {
      graph.weights.push_back(weight);
    }
  }
  std::partial_sum(graph.offsets.begin(), graph.offsets.end(), graph.offsets.begin());
  return graph;
}

edge_list random_list(std::uint32_t vertices, std::size_t blocks, std::size_t max_edges, bool weighted) {
  std::mt19937_64 random{vertices + blocks};
  edge_list list;
  list.weighted = weighted;
  for (std::size_t at = 0; at < blocks; ++at) {
    auto& block = list.blocks.emplace_back();
    for (auto edges = random() % max_edges; edges > 0; --edges) {
      auto const source = static_cast<std::uint32_t>(random() % vertices);
      block.edges.push_back({random() % 8 == 0 ? 0 : source, static_cast<std::uint32_t>(random() % vertices)});
      if (weighted) {
        block.weights.push_back(static_cast<float>(random() % 1000));
      }
    }
  }
  return list;
}

void expect_the_obvious(edge_list const& list, std::uint32_t vertices, mirror mirrored) {
  auto const expected = naive(list, vertices, mirrored);
  for (unsigned const threads : {1U, 2U, 7U}) {
    auto const graph = make_csr(list, vertices, mirrored, threads);
    ASSERT_NO_THROW(validate(graph));
    ASSERT_TRUE(graph == expected) << vertices << " vertices, " << list.blocks.size() << " blocks, " << threads
                                   << " threads, weighted " << list.weighted;
  }
}

TEST(make_csr, equals_the_obvious_way) {
  // below, at and above where vertices are split into buckets, and with one and several groups of blocks
  for (std::uint32_t const vertices : {1U, 4096U, 4097U, 20000U}) {
    for (std::size_t const blocks : {1U, 70U}) {
      for (auto const mirrored : {mirror::none, mirror::off_diagonal, mirror::all}) {
        for (bool const weighted : {false, true}) {
          expect_the_obvious(random_list(vertices, blocks, trials(3000), weighted), vertices, mirrored);
        }
      }
    }
  }
  expect_the_obvious(random_list(5'000'000, 30, 3000, true), 5'000'000, mirror::all);  // buckets at their most
}

TEST(make_csr, no_edges_gives_empty_rows) { EXPECT_TRUE(make_csr(edge_list{}, 3, mirror::all) == rows({{}, {}, {}})); }

/// Of 64 parts, of which each may have 5000 edges: many have fewer, and some have none.
TEST(make_csr, takes_edges_from_a_supply_that_knows_only_their_most) {
  for (bool const weighted : {false, true}) {
    edge_list const list = random_list(20'000, 64, 5000, weighted);
    auto given = std::make_shared<edge_list>(list);
    for (std::size_t part = 0; part < 64; part += 9) given->blocks[part] = {};
    for (unsigned const threads : {1U, 2U, 7U}) {
      edge_supply supply{.max_edges = std::vector<std::uint64_t>(64, 5000), .weighted = weighted};
      supply.make = [given](std::size_t part, edge_list::block& block) { block = given->blocks[part]; };
      EXPECT_TRUE(make_csr(supply, 20'000, mirror::off_diagonal, threads) ==
                  naive(*given, 20'000, mirror::off_diagonal))
          << threads << " threads, weighted " << weighted;
    }
  }
}

TEST(make_csr, throws_what_the_supply_throws) {
  edge_supply supply{.max_edges = std::vector<std::uint64_t>(8, 100'000)};
  supply.make = [](std::size_t part, edge_list::block&) {
    if (part == 5) throw std::domain_error{"no such edges"};
  };
  for (unsigned const threads : {1U, 3U}) {
    EXPECT_THROW(make_csr(supply, 10, mirror::none, threads), std::domain_error);
  }
}

}  // namespace
}  // namespace lull
