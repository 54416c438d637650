// SPDX-License-Identifier: Apache-2.0
// The host half of counting triangles: its options, the shipped graph from end to end, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <lull/graph/triangles/triangles_owner.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/graph/graph_owner.hpp>
#include <lull/tests/graph/run_in_bubbles.hpp>
#include <numeric>

namespace lull {
namespace {

using namespace std::chrono_literals;
using test::graph_owner;
using test::on_threads;
using test::settings;
using lines = std::vector<std::string>;

std::unique_ptr<task_owner> owner(settings const& given) { return test::owner_of(triangles_entry(), given); }

std::vector<std::uint64_t> one_more(std::uint64_t right) { return {right + 1}; }

test::owner_facts const facts{
    .name = "triangles",
    .entry = triangles_entry,
    .small = {{"kronecker", "6"}, {"grain", "3"}},
    .wrong = {{"counts", 8, one_more}, {"total", 8, one_more}},
    .refused = {{{"kronecker", "5"}, {"uniform", "5"}}, {{"seed", "5"}}, {{"top", "1001"}}},
    .shipped = {{"top", "2"}},
    .check = [](task_owner const& owner, lines const& said, lines const& counts, std::string const& path) {
      ASSERT_EQ(said.size(), 6U);
      EXPECT_EQ(said[0], "401985 triangles among 63666 vertices and 248270 undirected edges");
      EXPECT_TRUE(said[1].starts_with("transitivity: 0.00")) << said[1];
      EXPECT_EQ(said[2], "triangles of each vertex: " + path);
      EXPECT_EQ(said[3], "vertices in most triangles, of 63666:");
      EXPECT_TRUE(said[4].starts_with("   1  105946  vertex ")) << said[4];
      auto const figures = owner.figures();
      ASSERT_EQ(figures.size(), 3U);
      EXPECT_EQ(figures[0].name, "triangles");
      EXPECT_EQ(figures[0].value, 401985);
      EXPECT_NEAR(figures[2].value, 3 * figures[0].value / figures[1].value, 1e-12);
      auto const found = test::column_of<std::uint64_t>(counts);
      EXPECT_EQ(std::accumulate(found.begin(), found.end(), std::uint64_t{0}), 3 * 401985U);
    }};
INSTANTIATE_TEST_SUITE_P(triangles, graph_owner, testing::Values(facts));

TEST(triangles_owner, edges_of_a_file_are_undirected) {
  test::test_folder const folder;
  auto const graph = folder.write("g.el", "1 0\n0 1\n2 1\n2 2\n0 2\n0 3\n1 3\n4 0\n");
  runtime side{on_threads()};
  auto const task = owner({{"graph", graph}, {"grain", "3"}});
  auto const need = task->needs(executor_kind::threads);
  EXPECT_GT(need.machine_bytes, 0U);
  EXPECT_GT(need.preparing_bytes, 0U);
  task->prepare(executor_of(side));
  EXPECT_EQ(task->describe().grain, 3U);
  EXPECT_EQ(task->inputs(), std::vector<std::filesystem::path>{graph});
  EXPECT_GT(test::run_in_bubbles(side, task->describe(), 300us), 0U);
  EXPECT_EQ(task->write(),
            (std::vector<std::string>{"2 triangles among 5 vertices and 6 undirected edges",
                                      "transitivity: 0.545455, of 11 wedges (pairs of edges that meet)",
                                      "vertices in most triangles, of 5:", "   1  2  vertex 0", "   2  2  vertex 1",
                                      "   3  1  vertex 2", "   4  1  vertex 3", "   5  0  vertex 4"}));
}

TEST(triangles_owner, a_graph_without_edges_has_none) {
  test::test_folder const folder;
  runtime side{on_threads()};
  auto const task = owner({{"graph", folder.write("g.el", "3 3\n")}, {"top", "0"}});
  task->prepare(executor_of(side));
  test::run_in_bubbles(side, task->describe(), 300us);
  EXPECT_TRUE(task->verify().ok) << task->verify().message;
  EXPECT_EQ(task->write().front(), "0 triangles among 4 vertices and 0 undirected edges");
  EXPECT_EQ(task->figures()[2].value, 0);
}

TEST(triangles_owner, needs_as_much_as_it_takes) {
  for (settings const& given : {settings{{"kronecker", "14"}}, {{"uniform", "14"}}, {}}) {
    auto const need = owner(given)->needs(executor_kind::threads);
    auto const executor = make_executor({.kind = executor_kind::threads, .memory_limit_bytes = need.machine_bytes});
    auto const task = owner(given);
    EXPECT_NO_THROW(task->prepare(*executor));
  }
}

}  // namespace
}  // namespace lull
