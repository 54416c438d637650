// SPDX-License-Identifier: Apache-2.0
// The host half of betweenness centrality: its options, the shipped graph from end to end, drawn sources, and what it
// refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <lull/graph/betweenness/betweenness_owner.hpp>
#include <lull/graph/betweenness/sampled_sources.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/betweenness/brandes.hpp>
#include <lull/tests/graph/bfs_graphs.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/graph/owner_calls.hpp>
#include <lull/tests/graph/run_in_bubbles.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using test::figure;
using test::lines_of;
using test::message_of;
using test::on_threads;
using test::settings;
using lines = std::vector<std::string>;
using sources = std::vector<std::uint32_t>;

std::unique_ptr<task_owner> owner(settings const& given) { return test::owner_of(betweenness_entry(), given); }

/// The message of what `prepare` throws, or nothing.
template <class Error>
std::string refusal(settings const& given) {
  return test::refusal_of<Error>(betweenness_entry(), given);
}

std::unique_ptr<task_owner> run(runtime& side, settings const& given) {
  return test::run_owner(side, betweenness_entry(), given);
}

std::vector<double> totals_of(runtime& side, task_owner const& task) {
  auto const arrays = task.arrays();
  std::vector<double> totals(arrays.front().array.bytes() / sizeof(double));
  executor_of(side).read(totals.data(), arrays.front().memory, totals.size() * sizeof(double));
  return totals;
}

TEST(BetweennessOwner, ItsTableOfOptionsIsSound) {
  task_entry const entry = betweenness_entry();
  EXPECT_EQ(entry.name, "betweenness");
  EXPECT_NO_THROW(check_options(entry.options));
  EXPECT_TRUE(entry.type(option_values{entry.options}).threads);
}

TEST(BetweennessOwner, FindsThatOfTheShippedPackages) {
  test::test_folder const folder;
  auto const out = folder.at("centrality.tsv");
  runtime side{on_threads()};
  auto const packages = run(side, {{"out", out}});
  auto const said = packages->write();
  ASSERT_EQ(said.size(), 2U);
  EXPECT_TRUE(said[0].starts_with("from 4 vertices: ")) << said[0];
  EXPECT_EQ(said[1], "centralities: " + out);
  auto const first = lines_of(out);
  std::vector<double> const totals = totals_of(side, *packages);
  ASSERT_EQ(first.size(), totals.size());
  for (std::size_t vertex = 0; vertex < totals.size(); ++vertex) {
    std::string const begin = std::to_string(vertex) + '\t';
    ASSERT_TRUE(first[vertex].starts_with(begin));
    double read = -1;
    char const* const end = first[vertex].data() + first[vertex].size();
    ASSERT_EQ(std::from_chars(first[vertex].data() + begin.size(), end, read).ptr, end);
    ASSERT_EQ(read, totals[vertex]) << "other bits";
  }
  EXPECT_EQ(figure(*packages, "sources"), 4);
  EXPECT_EQ(figure(*packages, "highest"), *std::max_element(totals.begin(), totals.end()));
  EXPECT_GT(figure(*packages, "highest"), 0);
  EXPECT_GT(figure(*packages, "levels"), 4);
  packages->reset();
  EXPECT_FALSE(packages->verify().ok) << "nothing was run";
  EXPECT_GT(test::run_in_bubbles(side, packages->describe(), 300us), 0U);
  EXPECT_EQ(packages->write(), said);
  EXPECT_EQ(lines_of(out), first);
}

TEST(BetweennessOwner, WritesCentralities) {
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

TEST(BetweennessOwner, DrawsTheSameSourcesForTheSameSeed) {
  runtime side{on_threads()};
  auto const highest = [&](settings given) {
    given.insert(given.end(), {{"kronecker", "8"}, {"samples", "3"}});
    return figure(*run(side, given), "highest");
  };
  double const first = highest({});
  EXPECT_EQ(highest({{"grain", "3"}}), first);
  EXPECT_NE(highest({{"sample_seed", "2"}}), first);
}

TEST(SampledSources, AreDifferentVerticesThatAnEdgeLeaves) {
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

TEST(BetweennessOwner, AVerdictIsOnWhatTheArraysHold) {
  runtime side{on_threads()};
  auto const task = run(side, {{"kronecker", "8"}, {"grain", "3"}});
  EXPECT_EQ(task->describe().grain, 3U);
  auto const arrays = task->arrays();
  double const wrong = 3;
  executor_of(side).write(arrays.front().memory, &wrong, sizeof wrong);
  EXPECT_FALSE(task->verify().ok);
}

TEST(BetweennessOwner, RefusesWhatExcludesEachOther) {
  EXPECT_THROW(owner({{"kronecker", "5"}, {"grid", "5"}}), usage_error);
  EXPECT_THROW(owner({{"grid", "5"}, {"seed", "5"}}), usage_error);
  EXPECT_THROW(owner({{"source", "1"}, {"sources", "list"}}), usage_error);
  EXPECT_THROW(owner({{"samples", "0"}}), usage_error);
  for (auto const* const drawing : {"samples", "sample_seed"}) {
    EXPECT_EQ(message_of<usage_error>([&] {
                owner({{"source", "1"}, {drawing, "3"}});
              }),
              "betweenness: samples and sample_seed are for drawn sources: leave out source and sources");
  }
}

TEST(BetweennessOwner, RefusesWhatItCannotUseBeforeTheWork) {
  test::test_folder const folder;
  auto const graph = folder.write("g.el", "0 1\n1 2\n");
  EXPECT_NE(refusal<input_error>({{"graph", folder.at("none.el")}}), "");
  EXPECT_EQ(refusal<usage_error>({{"graph", graph}, {"source", "3"}}),
            "betweenness: source=3 is no vertex: the graph has vertices 0 to 2");
  EXPECT_NE(refusal<usage_error>({{"graph", graph}, {"out", folder.at("no/such/folder")}}), "");
  EXPECT_NE(refusal<input_error>({{"graph", graph}, {"sources", folder.write("list", "3\n")}}), "");
  // A wrong source is told with the memory, before any is taken.
  EXPECT_NE(message_of<usage_error>([] { owner({{"kronecker", "5"}, {"source", "32"}})->needs({}); }), "");
}

TEST(BetweennessOwner, NeedsGrowWithTheSources) {
  auto const four = owner({{"grid", "32"}})->needs(executor_kind::threads);
  auto const many = owner({{"grid", "32"}, {"samples", "1000"}})->needs(executor_kind::threads);
  auto const all = owner({{"grid", "32"}, {"samples", "100000"}})->needs(executor_kind::threads);
  EXPECT_EQ(many.machine_bytes - four.machine_bytes, 4U * 996);
  EXPECT_EQ(all.machine_bytes - four.machine_bytes, 4U * 1020);
  EXPECT_EQ(four.smaller, "grid");
}

}  // namespace
}  // namespace lull
