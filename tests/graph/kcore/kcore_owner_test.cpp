// SPDX-License-Identifier: Apache-2.0
// The host half of core numbers: its options, the shipped graph from end to end, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <lull/graph/kcore/kcore_owner.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/graph/graph_owner.hpp>

namespace lull {
namespace {

using test::figure;
using test::graph_owner;
using test::lines_of;
using test::on_threads;
using test::settings;
using lines = std::vector<std::string>;

std::unique_ptr<task_owner> run(runtime& side, settings const& given) {
  return test::run_owner(side, kcore_entry(), given);
}

test::owner_facts const facts{
    .name = "kcore",
    .entry = kcore_entry,
    .small = {{"kronecker", "10"}, {"seed", "4"}, {"grain", "3"}},
    // Its first vertex is that of the highest degree.
    .wrong = {{"core", 4,
               [](std::uint64_t core) {
                 return std::vector<std::uint64_t>{core - 1, core + 1, 0, ~0ULL};
               }}},
    .refused = {{{"kronecker", "5"}, {"uniform", "5"}}, {{"seed", "5"}}, {{"grain", "0"}}, {{"kronecker", "28"}}},
    .check = [](task_owner const& owner, lines const& said, lines const& cores, std::string const& path) {
      ASSERT_EQ(said.size(), 3U);
      EXPECT_EQ(said[2], "core numbers: " + path);
      auto const found = test::column_of<std::uint64_t>(cores);
      std::uint64_t const largest = *std::max_element(found.begin(), found.end());
      EXPECT_EQ(figure(owner, "degeneracy"), static_cast<double>(largest));
      EXPECT_EQ(figure(owner, "innermost_vertices"),
                static_cast<double>(std::count(found.begin(), found.end(), largest)));
    }};
INSTANTIATE_TEST_SUITE_P(kcore, graph_owner, testing::Values(facts));

/// A triangle 1, 2, 4 with a tail to 3 and 0, one edge in both directions, one twice; 5 with itself, 6 in no edge.
TEST(kcore_owner, writes_core_numbers) {
  test::test_folder const folder;
  auto const graph = folder.write("g.el", "1 2\n2 1\n2 4\n4 1\n4 3\n4 3\n3 0\n5 5\n7 8\n");
  auto const out = folder.at("out.tsv");
  runtime side{on_threads()};
  auto const task = run(side, {{"graph", graph}, {"out", out}, {"grain", "3"}});
  EXPECT_EQ(task->describe().grain, 3U);
  auto const said = task->write();
  ASSERT_EQ(said.size(), 3U);
  EXPECT_EQ(said[0], "largest core number (degeneracy): 2, of 3 vertices among 9 and 6 undirected edges");
  EXPECT_EQ(said[1], "2 core numbers above 0, found in 2 waves");
  EXPECT_EQ(lines_of(out), (lines{"0\t1", "1\t2", "2\t2", "3\t1", "4\t2", "5\t0", "6\t0", "7\t1", "8\t1"}));
  EXPECT_EQ(figure(*task, "degeneracy"), 2);
  EXPECT_EQ(figure(*task, "innermost_vertices"), 3);
  EXPECT_EQ(figure(*task, "core_numbers"), 2);
  EXPECT_EQ(figure(*task, "waves"), 2);
  EXPECT_EQ(task->inputs().size(), 1U);
  EXPECT_EQ(task->outputs().size(), 1U);
}

TEST(kcore_owner, a_graph_without_edges_has_core_number_0) {
  test::test_folder const folder;
  runtime side{on_threads()};
  auto const task = run(side, {{"graph", folder.write("g.el", "0 0\n")}});
  EXPECT_EQ(task->write(), (lines{"largest core number (degeneracy): 0, of 1 vertex among 1 and 0 undirected edges",
                                  "0 core numbers above 0, found in 0 waves"}));
}

}  // namespace
}  // namespace lull
