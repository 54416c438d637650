// SPDX-License-Identifier: Apache-2.0
// The host half of shortest paths: its options, the shipped graph from end to end, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <lull/graph/sssp/sssp_owner.hpp>
#include <lull/graph/sssp/verify_sssp.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/graph/graph_owner.hpp>
#include <lull/tests/graph/one_reading.hpp>
#include <lull/tests/graph/run_in_bubbles.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using test::figure;
using test::graph_owner;
using test::lines_of;
using test::on_threads;
using test::search_owner;
using test::settings;
using lines = std::vector<std::string>;

std::unique_ptr<task_owner> owner(settings const& given) { return test::owner_of(sssp_entry(), given); }

std::unique_ptr<task_owner> run(runtime& side, settings const& given) {
  return test::run_owner(side, sssp_entry(), given);
}

test::owner_facts const facts{
    .name = "sssp",
    .entry = sssp_entry,
    .small = {{"kronecker", "10"}, {"grain", "3"}},
    .wrong = {test::wrong("distances", 4, 3)},
    .refused = {{{"kronecker", "5"}, {"grid", "5"}},
                {{"grid", "5"}, {"seed", "5"}},
                {{"grid", "1"}},
                {{"delta", "0"}},
                {{"weights", "unit"}, {"max_weight", "3"}},
                {{"grid", "5"}, {"undirected", "yes"}},
                {{"max_weight", "16777217"}}},
    .check = [](task_owner const& owner, lines const& said, lines const& distances, std::string const& path) {
      ASSERT_EQ(said.size(), 3U);
      EXPECT_EQ(said[1], "distances and parents: " + path);
      EXPECT_NE(said[2].find("no weights: "), std::string::npos) << said[2];
      auto const reached = std::count_if(distances.begin(), distances.end(),
                                         [](std::string const& line) { return !line.ends_with("\tinf\t-1"); });
      EXPECT_EQ(figure(owner, "reached"), static_cast<double>(reached));
      EXPECT_GT(reached, 1);
    }};
INSTANTIATE_TEST_SUITE_P(sssp, graph_owner, testing::Values(facts));
INSTANTIATE_TEST_SUITE_P(sssp, search_owner, testing::Values(facts));

TEST(sssp_owner, refuses_to_write_distances_that_are_too_large) {
  std::string text;
  for (int vertex = 0; vertex < 300; ++vertex) {
    text += std::to_string(vertex) + ' ' + std::to_string(vertex + 1) + " 16777216\n";
  }
  test::test_folder const folder;
  runtime side{on_threads()};
  auto const far =
      test::owner_of(sssp_entry(), {{"graph", folder.write("far.wel", text)}, {"out", folder.at("none.tsv")}});
  far->prepare(executor_of(side));
  far->reset();
  EXPECT_GT(test::run_in_bubbles(side, far->describe(), 300us), 0U);
  EXPECT_NE(far->verify().message.find("does not hold"), std::string::npos);
  EXPECT_NE(message_of<limit_error>([&] { far->write(); }).find("4294967295 or farther"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.at("none.tsv")));
}

TEST(sssp_owner, writes_distances_and_parents) {
  test::test_folder const folder;
  auto const out = folder.at("out.tsv");
  runtime side{on_threads()};
  auto const whole = folder.write("g.gr", "p sp 5 5\na 1 2 7\na 1 3 2\na 3 2 4\na 2 4 30000000\na 3 4 30000007\n");
  auto const heavy = run(side, {{"graph", whole}, {"out", out}});
  EXPECT_EQ(figure(*heavy, "reached"), 4);  // above 2^24 weights are floats
  auto const roads = folder.write("g.gr", "p sp 5 5\na 1 2 7\na 1 3 2\na 3 2 4\na 2 4 16777215\na 3 4 16777216\n");
  auto const exact = run(side, {{"graph", roads}, {"out", out}});
  EXPECT_EQ(exact->write().front(), "from vertex 1: 4 vertices reached, distance 16777218, 5 edges traversed");
  EXPECT_EQ(lines_of(out), (lines{"1\t0\t1", "2\t6\t3", "3\t2\t1", "4\t16777218\t3", "5\tinf\t-1"}));
  auto const real = folder.write("g.wel", "0 1 0.5\n1 2 0.25\n0 2 1\n2 0 0\n");
  auto const weighted = run(side, {{"graph", real}, {"out", out}, {"source", "2"}});
  EXPECT_EQ(weighted->write().front(), "from vertex 2: 3 vertices reached, distance 0.5, 4 edges traversed");
  EXPECT_TRUE(weighted->verify().ok);  // by the weights of the file
  EXPECT_EQ(lines_of(out), (lines{"0\t0\t2", "1\t0.5\t0", "2\t0\t2"}));
}

TEST(sssp_owner, searches_from_each_vertex_of_a_list) {
  test::test_folder const folder;
  auto const graph = folder.write("g.wel", "1 2 3\n2 0 4\n");
  auto const out = folder.at("out.tsv");
  runtime side{on_threads()};
  auto const several = run(side, {{"graph", graph}, {"sources", folder.write("list", "2\n1\n")}, {"out", out}});
  EXPECT_EQ(several->write().front(), "from 2 vertices: 5 vertices reached, distance 7, 3 edges traversed");
  EXPECT_EQ(lines_of(out),
            (lines{"2\t0\t4\t2", "2\t1\tinf\t-1", "2\t2\t0\t2", "1\t0\t7\t2", "1\t1\t0\t1", "1\t2\t3\t1"}));
  EXPECT_EQ(several->inputs().size(), 2U);
  EXPECT_EQ(several->outputs().size(), 1U);
}

TEST(sssp_owner, takes_1_for_the_weights_of_a_file_without) {
  test::test_folder const folder;
  runtime side{on_threads()};
  std::string const entries = "pattern general\n3 3 2\n1 2\n2 3\n";
  for (auto const& graph : {folder.write("g.el", "0 1\n1 2\n"), folder.write("g.csv", "0,1\n1,2\n"),
                            folder.write("g.graph", "3 2\n2\n1 3\n2\n"),
                            folder.write("g.mtx", "%%MatrixMarket matrix coordinate " + entries)}) {
    auto const unit = run(side, {{"graph", graph}});
    EXPECT_EQ(figure(*unit, "distance"), 2) << graph;
    EXPECT_EQ(unit->notes().back(), graph + " has no weights: each edge weighs 1 (weights=drawn draws them)");
    EXPECT_TRUE(unit->verify().ok) << "made again";
  }
  auto const grid = run(side, {{"grid", "9"}, {"weights", "unit"}});
  EXPECT_EQ(figure(*grid, "distance"), 16);
  EXPECT_EQ(grid->notes().back(), "no weights: each edge weighs 1 (weights=drawn draws them)");
  EXPECT_EQ(run(side, {{"grid", "9"}})->notes().back(),
            "no weights: drawn, whole numbers from 1 to 255 (weight_seed=1)");
  auto const drawn = run(side, {{"graph", folder.write("g.el", "0 1\n1 2\n")}, {"weights", "drawn"}});
  EXPECT_NE(drawn->notes().back().find(" has no weights: drawn, whole numbers from 1 to 255"), std::string::npos);
}

TEST(sssp_owner, says_which_whole_weights_are_not_exact) {
  test::test_folder const folder;
  runtime side{on_threads()};
  auto const graph = folder.write("big.wel", "0 1 100000001\n1 2 1\n");
  auto const rounded = run(side, {{"graph", graph}});
  EXPECT_EQ(rounded->notes().back(), graph +
                                         ": a whole weight is not exact, because weights are floats: line 1 says "
                                         "100000001, taken as 100000000");
  EXPECT_EQ(figure(*rounded, "rounded_weights"), 1);
  auto const exact = run(side, {{"graph", folder.write("exact.wel", "0 1 16777216\n1 2 1\n")}});
  EXPECT_EQ(figure(*exact, "rounded_weights"), -1);
  EXPECT_TRUE(exact->notes().empty());
}

TEST(sssp_owner, draws_weights_where_there_are_none) {
  test::test_folder const folder;
  auto const graph = folder.write("g.el", "0 1\n1 2\n");
  runtime side{on_threads()};
  EXPECT_EQ(run(side, {{"graph", graph}, {"max_weight", "1"}})->write().front(),
            "from vertex 0: 3 vertices reached, distance 2, 2 edges traversed");
  auto const one = figure(*run(side, {{"grid", "9"}}), "distance");
  EXPECT_NE(figure(*run(side, {{"grid", "9"}, {"weight_seed", "2"}}), "distance"), one);
  EXPECT_EQ(figure(*run(side, {{"grid", "9"}, {"delta", "0.1"}, {"grain", "3"}}), "distance"), one);
}

TEST(sssp_owner, refuses_weights_that_it_cannot_use_before_the_work) {
  test::test_folder const folder;
  auto const graph = folder.write("g.wel", "0 1 1\n1 2 -1\n");
  EXPECT_EQ(test::refusal_of<input_error>(sssp_entry(), {{"graph", graph}}),
            graph + ":2: the edge from 1 to 2: the weight `-1` is negative: a weight must be from 0 to 2^96");
  auto const right = folder.write("right.wel", "0 1 1\n1 2 1\n");
  EXPECT_EQ(
      test::refusal_of<usage_error>(sssp_entry(), {{"graph", right}, {"max_weight", "3"}}),
      "sssp: " + right + " has weights: leave out weights, max_weight and weight_seed, which are for a graph without");
}

TEST(sssp_owner, needs_grow_with_the_sources) {
  test::test_folder const folder;
  auto const one = owner({{"grid", "32"}})->needs(executor_kind::threads);
  auto const list = folder.write("list", "1\n2\n3\n");
  auto const three = owner({{"grid", "32"}, {"sources", list}})->needs(executor_kind::threads);
  EXPECT_EQ(three.machine_bytes - one.machine_bytes, 2U * (1024 * 12 + 4));
  EXPECT_EQ(one.smaller, "grid");
}

TEST(sssp_owner, keeps_no_drawn_weights) {
  constexpr std::uint64_t vertices = 1024;
  constexpr std::uint64_t edges = 4 * 32 * 31;
  auto const need = owner({{"grid", "32"}})->needs(executor_kind::threads);
  EXPECT_EQ(need.host_bytes, (vertices + 1) * sizeof(std::uint64_t) + edges * sizeof(std::uint32_t));
  EXPECT_GE(need.preparing_bytes, edges * sizeof(float) + vertices * sizeof(sssp_found));  // to judge
  runtime side{on_threads()};
  auto const drawn = run(side, {{"grid", "9"}});
  EXPECT_TRUE(drawn->verify().ok);
  EXPECT_TRUE(drawn->verify().ok);  // drawn again
}

TEST(sssp_owner, reads_the_results_of_a_run_once) {
  test::expect_one_reading(sssp_entry(), {{"kronecker", "10"}, {"source", "1"}});
}

}  // namespace
}  // namespace lull
