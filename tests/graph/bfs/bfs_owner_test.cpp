// SPDX-License-Identifier: Apache-2.0
// The host half of breadth-first search: its options, the shipped graph from end to end, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <lull/graph/bfs/bfs_owner.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/graph/graph_owner.hpp>
#include <lull/tests/graph/one_reading.hpp>

namespace lull {
namespace {

using test::figure;
using test::graph_owner;
using test::lines_of;
using test::on_threads;
using test::search_owner;
using test::settings;
using lines = std::vector<std::string>;

std::unique_ptr<task_owner> owner(settings const& given) { return test::owner_of(bfs_entry(), given); }

std::unique_ptr<task_owner> run(runtime& side, settings const& given) {
  return test::run_owner(side, bfs_entry(), given);
}

test::owner_facts const facts{
    .name = "bfs",
    .entry = bfs_entry,
    .small = {{"kronecker", "12"}, {"grain", "3"}},
    .wrong = {test::wrong("labels", 8, std::uint64_t{1} << 32 | 4000)},
    .refused = {{{"kronecker", "5"}, {"uniform", "5"}},
                {{"seed", "5"}},
                {{"source", "-1"}},
                {{"source", "1"}, {"at_once", "2"}},
                {{"at_once", "64"}},
                {{"sources", "list"}, {"at_once", "0"}},
                {{"sources", "list"}, {"at_once", "65"}},
                {{"sources", "list"}, {"at_once", "many"}}},
    .check = [](task_owner const& owner, lines const& said, lines const& depths, std::string const& path) {
      ASSERT_EQ(said.size(), 2U);
      EXPECT_EQ(said[1], "depths and parents: " + path);
      auto const reached = std::count_if(depths.begin(), depths.end(),
                                         [](std::string const& line) { return !line.ends_with("\t-1\t-1"); });
      EXPECT_EQ(figure(owner, "reached"), static_cast<double>(reached));
      EXPECT_GT(reached, 1);
    }};
INSTANTIATE_TEST_SUITE_P(bfs, graph_owner, testing::Values(facts));
INSTANTIATE_TEST_SUITE_P(bfs, search_owner, testing::Values(facts));

TEST(bfs_owner, has_a_type_for_searches_at_once) {
  task_entry const entry = bfs_entry();
  option_values values{entry.options};
  auto const single = entry.type(values).threads;
  EXPECT_NO_THROW(values.set("at_once", "64"));
  EXPECT_TRUE(entry.type(values).threads);
  EXPECT_NE(entry.type(values).threads.resident, single.resident);
  EXPECT_NO_THROW(owner({{"sources", "list"}, {"at_once", "64"}}));
}

TEST(bfs_owner, writes_depths_and_parents) {
  test::test_folder const folder;
  auto const graph = folder.write("g.el", "1 3\n1 2\n2 4\n3 4\n4 1\n5 0\n");
  auto const out = folder.at("out.tsv");
  runtime side{on_threads()};
  auto const default_source = run(side, {{"graph", graph}, {"out", out}});
  EXPECT_EQ(default_source->write().front(),
            "from vertex 1: 4 vertices reached, depth 2, 5 edges traversed; levels: 3 pushed, 0 pulled");
  EXPECT_EQ(lines_of(out), (lines{"0\t-1\t-1", "1\t0\t1", "2\t1\t1", "3\t1\t1", "4\t2\t2", "5\t-1\t-1"}));
  run(side, {{"graph", graph}, {"source", "5"}, {"out", out}})->write();
  EXPECT_EQ(lines_of(out), (lines{"0\t1\t5", "1\t-1\t-1", "2\t-1\t-1", "3\t-1\t-1", "4\t-1\t-1", "5\t0\t5"}));
}

TEST(bfs_owner, searches_from_each_vertex_of_a_list) {
  test::test_folder const folder;
  auto const graph = folder.write("g.el", "1 2\n2 0\n");
  auto const out = folder.at("out.tsv");
  runtime side{on_threads()};
  auto const several = run(side, {{"graph", graph}, {"sources", folder.write("list", "2\n0\n2\n")}, {"out", out}});
  EXPECT_EQ(several->write().front(),
            "from 3 vertices: 5 vertices reached, depth 1, 2 edges traversed; levels: 2 pushed, 0 pulled");
  EXPECT_EQ(lines_of(out), (lines{"2\t0\t1\t2", "2\t1\t-1\t-1", "2\t2\t0\t2", "0\t0\t0\t0", "0\t1\t-1\t-1",
                                  "0\t2\t-1\t-1", "2\t0\t1\t2", "2\t1\t-1\t-1", "2\t2\t0\t2"}));
  EXPECT_EQ(several->inputs().size(), 2U);
  EXPECT_EQ(several->outputs().size(), 1U);
  // A list of one has the column, too.
  run(side, {{"graph", graph}, {"sources", folder.write("list", "2\n")}, {"out", out}})->write();
  EXPECT_EQ(lines_of(out), (lines{"2\t0\t1\t2", "2\t1\t-1\t-1", "2\t2\t0\t2"}));
}

/// At once or one after the other: the same file, line for line.
TEST(bfs_owner, searches_from_the_vertices_of_a_list_at_once) {
  test::test_folder const folder;
  std::string vertices;
  for (int i = 0; i < 70; ++i) vertices += std::to_string(i * 37 % 1024) + "\n";
  settings given{{"kronecker", "10"}, {"sources", folder.write("list", vertices)}, {"out", folder.at("single.tsv")}};
  runtime side{on_threads()};
  auto const single = run(side, given);
  single->write();
  given.back().second = folder.at("together.tsv");
  given.emplace_back("at_once", "64");
  auto const together = run(side, given);
  EXPECT_GT(figure(*single, "levels_pulled"), 0);
  EXPECT_EQ(together->verify().message, single->verify().message);
  EXPECT_EQ(together->write().size(), 2U);
  EXPECT_EQ(lines_of(folder.at("together.tsv")), lines_of(folder.at("single.tsv")));
  EXPECT_EQ(lines_of(folder.at("together.tsv")).size(), 70U * 1024);
  for (char const* name : {"reached", "depth", "edges_traversed"}) {
    EXPECT_EQ(figure(*together, name), figure(*single, name)) << name;
  }
  EXPECT_LT(figure(*together, "levels_pushed") + figure(*together, "levels_pulled"),
            figure(*single, "levels_pushed") + figure(*single, "levels_pulled"));
  together->reset();
  EXPECT_EQ(together->verify().message, "the run has not ended: 0 of 70 searches are done");
}

TEST(bfs_owner, needs_grow_with_the_sources) {
  test::test_folder const folder;
  auto const one = owner({{"kronecker", "10"}})->needs(executor_kind::threads);
  auto const list = folder.write("list", "1\n2\n3\n");
  auto const three = owner({{"kronecker", "10"}, {"sources", list}})->needs(executor_kind::threads);
  EXPECT_EQ(three.machine_bytes - one.machine_bytes, 2U * (1024 * 8 + 4));
  EXPECT_EQ(one.smaller, "kronecker");
  auto const at_once = owner({{"kronecker", "10"}, {"sources", list}, {"at_once", "2"}});
  EXPECT_GT(at_once->needs(executor_kind::threads).machine_bytes, three.machine_bytes);
}

TEST(bfs_owner, reads_the_results_of_a_run_once) {
  test::expect_one_reading(bfs_entry(), {{"kronecker", "10"}, {"source", "1"}});
  test::test_folder const folder;
  auto const list = folder.write("list", "1\n2\n3\n");
  test::expect_one_reading(bfs_entry(), {{"kronecker", "10"}, {"sources", list}, {"at_once", "2"}});
}

}  // namespace
}  // namespace lull
