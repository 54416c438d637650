// SPDX-License-Identifier: Apache-2.0
// The host half of betweenness centrality: its options, the shipped graph from end to end, drawn sources, and what it
// refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <lull/graph/betweenness/betweenness_owner.hpp>
#include <lull/graph/betweenness/sampled_sources.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/betweenness/brandes.hpp>
#include <lull/tests/graph/bfs_graphs.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/graph/graph_owner.hpp>

namespace lull {
namespace {

using test::figure;
using test::graph_owner;
using test::lines_of;
using test::on_threads;
using test::search_owner;
using test::settings;
using lines = std::vector<std::string>;
using sources = std::vector<std::uint32_t>;

std::unique_ptr<task_owner> owner(settings const& given) { return test::owner_of(betweenness_entry(), given); }

std::unique_ptr<task_owner> run(runtime& side, settings const& given) {
  return test::run_owner(side, betweenness_entry(), given);
}

test::owner_facts const facts{
    .name = "betweenness",
    .entry = betweenness_entry,
    .small = {{"kronecker", "8"}, {"grain", "3"}},
    .wrong = {test::wrong("totals", 8, std::bit_cast<std::uint64_t>(3.0))},
    .refused = {{{"kronecker", "5"}, {"grid", "5"}}, {{"grid", "5"}, {"seed", "5"}}, {{"samples", "0"}}},
    .check = [](task_owner const& owner, lines const& said, lines const& centralities, std::string const& path) {
      ASSERT_EQ(said.size(), 2U);
      EXPECT_TRUE(said[0].starts_with("from 4 vertices: ")) << said[0];
      EXPECT_EQ(said[1], "centralities: " + path);
      // On CPU threads an array lies where it can be read.
      auto const* const totals = static_cast<double const*>(owner.arrays().front().memory);
      auto const found = test::column_of<double>(centralities);
      EXPECT_TRUE(std::equal(found.begin(), found.end(), totals)) << "other bits";
      EXPECT_EQ(figure(owner, "sources"), 4);
      EXPECT_EQ(figure(owner, "highest"), *std::max_element(found.begin(), found.end()));
      EXPECT_GT(figure(owner, "highest"), 0);
      EXPECT_GT(figure(owner, "levels"), 4);
    }};
INSTANTIATE_TEST_SUITE_P(betweenness, graph_owner, testing::Values(facts));
INSTANTIATE_TEST_SUITE_P(betweenness, search_owner, testing::Values(facts));

TEST(betweenness_owner, writes_centralities) {
  test::test_folder const folder;
  auto const out = folder.at("out.tsv");
  runtime side{on_threads()};
  auto const graph = folder.write("g.el", "0 1\n0 2\n0 3\n1 4\n2 4\n3 4\n4 5\n");
  auto const one = run(side, {{"graph", graph}, {"source", "0"}, {"out", out}});
  EXPECT_EQ(one->write().front(), "from vertex 0: 6 vertices reached; the highest is 1, of vertex 4");
  EXPECT_EQ(lines_of(out),
            (lines{"0\t0", "1\t0.6666666666666666", "2\t0.6666666666666666", "3\t0.6666666666666666", "4\t1", "5\t0"}));
  EXPECT_EQ(figure(*one, "levels"), 3);
  auto const list = folder.write("list", "1\n0\n");
  auto const two = run(side, {{"graph", graph}, {"sources", list}, {"out", out}});
  EXPECT_EQ(two->write().front(), "from 2 vertices: 9 vertices reached; the highest is 2, of vertex 4");
  EXPECT_EQ(two->inputs().size(), 2U);
  EXPECT_EQ(two->outputs().size(), 1U);
  auto const all = run(side, {{"graph", graph}, {"samples", "100"}});
  EXPECT_EQ(all->write().front(), "from 5 vertices: 17 vertices reached; the highest is 4, of vertex 4");
}

TEST(betweenness_owner, draws_the_same_sources_for_the_same_seed) {
  runtime side{on_threads()};
  auto const highest = [&](settings given) {
    given.insert(given.end(), {{"kronecker", "8"}, {"samples", "3"}});
    return figure(*run(side, given), "highest");
  };
  double const first = highest({});
  EXPECT_EQ(highest({{"grain", "3"}}), first);
  EXPECT_NE(highest({{"sample_seed", "2"}}), first);
}

TEST(sampled_sources, are_different_vertices_that_an_edge_leaves) {
  csr const graph = test::from_rows({{}, {2}, {}, {1}, {4}, {}, {0, 0}, {3}, {}});
  sources const all{1, 3, 4, 6, 7};
  EXPECT_EQ(sample_sources(graph, 5, 1), all);
  EXPECT_EQ(sample_sources(graph, 1000, 1), all);
  EXPECT_EQ(sample_sources(test::from_rows({{}, {}}), 3, 1), sources{0});
  std::vector<int> drawn(9);
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    sources const found = sample_sources(graph, 2, seed);
    ASSERT_EQ(found.size(), 2U);
    ASSERT_LT(found[0], found[1]);
    for (std::uint32_t const vertex : found) ++drawn[vertex];
  }
  for (std::uint32_t const vertex : all) EXPECT_NEAR(drawn[vertex], 400, 80) << vertex;
  EXPECT_EQ(drawn[0] + drawn[2] + drawn[5] + drawn[8], 0);
}

TEST(betweenness_owner, draws_no_sources_where_some_are_given) {
  for (auto const* const drawing : {"samples", "sample_seed"}) {
    EXPECT_EQ(message_of<usage_error>([&] {
                owner({{"source", "1"}, {drawing, "3"}});
              }),
              "betweenness: samples and sample_seed are for drawn sources: leave out source and sources");
  }
}

TEST(betweenness_owner, needs_grow_with_the_sources) {
  auto const four = owner({{"grid", "32"}})->needs(executor_kind::threads);
  auto const many = owner({{"grid", "32"}, {"samples", "1000"}})->needs(executor_kind::threads);
  auto const all = owner({{"grid", "32"}, {"samples", "100000"}})->needs(executor_kind::threads);
  EXPECT_EQ(many.machine_bytes - four.machine_bytes, 4U * 996);
  EXPECT_EQ(all.machine_bytes - four.machine_bytes, 4U * 1020);
  EXPECT_EQ(four.smaller, "grid");
}

}  // namespace
}  // namespace lull
