// SPDX-License-Identifier: Apache-2.0
// The host half of breadth-first search: its options, the shipped graph from end to end, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <lull/graph/bfs/bfs_owner.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/graph/one_reading.hpp>
#include <lull/tests/graph/owner_calls.hpp>
#include <lull/tests/graph/run_in_bubbles.hpp>
#include <utility>

namespace lull {
namespace {

using namespace std::chrono_literals;
using test::figure;
using test::lines_of;
using test::message_of;
using test::on_threads;
using test::settings;
using lines = std::vector<std::string>;

std::unique_ptr<task_owner> owner(settings const& given) { return test::owner_of(bfs_entry(), given); }

/// The message of what `prepare` throws, or nothing.
template <class Error>
std::string refusal(settings const& given) {
  return test::refusal_of<Error>(bfs_entry(), given);
}

std::unique_ptr<task_owner> run(runtime& side, settings const& given) {
  return test::run_owner(side, bfs_entry(), given);
}

TEST(BfsOwner, ItsTableOfOptionsIsSound) {
  task_entry const entry = bfs_entry();
  EXPECT_EQ(entry.name, "bfs");
  EXPECT_NO_THROW(check_options(entry.options));
  option_values values{entry.options};
  auto const single = entry.type(values);
  EXPECT_TRUE(single.threads);
  values.set("at_once", "64");
  EXPECT_TRUE(entry.type(values).threads);
  EXPECT_NE(entry.type(values).threads.resident, single.threads.resident);
}

TEST(BfsOwner, SearchesTheShippedPackages) {
  test::test_folder const folder;
  runtime side{on_threads()};
  auto const packages = run(side, {{"out", folder.at("depths.tsv")}});
  auto const said = packages->write();
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[1], "depths and parents: " + folder.at("depths.tsv"));
  auto const first = lines_of(folder.at("depths.tsv"));
  ASSERT_EQ(first.size(), 63666U);
  EXPECT_GT(figure(*packages, "reached"), 1);
  EXPECT_EQ(figure(*packages, "reached"),
            static_cast<double>(std::count_if(first.begin(), first.end(),
                                              [](std::string const& line) { return !line.ends_with("\t-1\t-1"); })));
  packages->reset();
  EXPECT_FALSE(packages->verify().ok) << "nothing was run";
  EXPECT_GT(test::run_in_bubbles(side, packages->describe(), 300us), 0U);
  EXPECT_TRUE(packages->verify().ok);
  EXPECT_EQ(packages->write(), said);
  EXPECT_EQ(lines_of(folder.at("depths.tsv")), first);
}

TEST(BfsOwner, WritesDepthsAndParents) {
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

TEST(BfsOwner, SearchesFromEachVertexOfAList) {
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
TEST(BfsOwner, SearchesFromTheVerticesOfAListAtOnce) {
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

TEST(BfsOwner, AVerdictIsOnWhatTheArraysHold) {
  runtime side{on_threads()};
  auto const task = run(side, {{"kronecker", "12"}, {"grain", "3"}});
  EXPECT_EQ(task->describe().grain, 3U);
  EXPECT_GT(figure(*task, "levels_pulled"), 0);
  auto const arrays = task->arrays();
  auto const labels =
      std::find_if(arrays.begin(), arrays.end(), [](auto const& one) { return one.array.name == "labels"; });
  ASSERT_NE(labels, arrays.end());
  std::uint64_t const wrong = std::uint64_t{1} << 32 | 4000;
  executor_of(side).write(labels->memory, &wrong, sizeof wrong);
  EXPECT_FALSE(task->verify().ok);
}

TEST(BfsOwner, RefusesWhatExcludesEachOther) {
  EXPECT_THROW(owner({{"kronecker", "5"}, {"uniform", "5"}}), usage_error);
  EXPECT_THROW(owner({{"seed", "5"}}), usage_error);
  EXPECT_THROW(owner({{"source", "-1"}}), usage_error);
  EXPECT_THROW(owner({{"source", "1"}, {"sources", "list"}}), usage_error);
  EXPECT_THROW(owner({{"source", "1"}, {"at_once", "2"}}), usage_error);
  EXPECT_THROW(owner({{"at_once", "64"}}), usage_error);
  for (char const* width : {"0", "65", "many"}) {
    EXPECT_THROW(owner({{"sources", "list"}, {"at_once", width}}), usage_error) << width;
  }
  EXPECT_NO_THROW(owner({{"sources", "list"}, {"at_once", "64"}}));
}

TEST(BfsOwner, RefusesWhatItCannotUseBeforeTheWork) {
  test::test_folder const folder;
  auto const graph = folder.write("g.el", "0 1\n1 2\n");
  EXPECT_NE(refusal<input_error>({{"graph", folder.at("none.el")}}), "");
  EXPECT_EQ(refusal<usage_error>({{"graph", graph}, {"source", "3"}}),
            "bfs: source=3 is no vertex: the graph has vertices 0 to 2");
  auto const list = folder.write("list", "0\n3\n");
  EXPECT_NE(refusal<input_error>({{"graph", graph}, {"sources", list}}).find("list:2: vertex 3"), std::string::npos);
  EXPECT_NE(refusal<usage_error>({{"graph", graph}, {"out", folder.at("no/such/folder")}}), "");
  // A wrong source is told with the memory, before any is taken.
  EXPECT_NE(message_of<usage_error>([] { owner({{"kronecker", "5"}, {"source", "32"}})->needs({}); }), "");
}

TEST(BfsOwner, NeedsGrowWithTheSources) {
  test::test_folder const folder;
  auto const one = owner({{"kronecker", "10"}})->needs(executor_kind::threads);
  auto const list = folder.write("list", "1\n2\n3\n");
  auto const three = owner({{"kronecker", "10"}, {"sources", list}})->needs(executor_kind::threads);
  EXPECT_EQ(three.machine_bytes - one.machine_bytes, 2U * (1024 * 8 + 4));
  EXPECT_EQ(one.smaller, "kronecker");
  auto const at_once = owner({{"kronecker", "10"}, {"sources", list}, {"at_once", "2"}});
  EXPECT_GT(at_once->needs(executor_kind::threads).machine_bytes, three.machine_bytes);
}

TEST(BfsOwner, ReadsTheResultsOfARunOnce) {
  test::expect_one_reading(bfs_entry(), {{"kronecker", "10"}, {"source", "1"}});
  test::test_folder const folder;
  auto const list = folder.write("list", "1\n2\n3\n");
  test::expect_one_reading(bfs_entry(), {{"kronecker", "10"}, {"sources", list}, {"at_once", "2"}});
}

}  // namespace
}  // namespace lull
