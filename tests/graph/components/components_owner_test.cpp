// SPDX-License-Identifier: Apache-2.0
// The host half of connected components: its options, the shipped graph from end to end, and what it refuses.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <lull/graph/components/components_owner.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/graph/graph_owner.hpp>
#include <lull/tests/graph/run_in_bubbles.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using test::graph_owner;
using test::lines_of;
using test::on_threads;
using test::settings;
using lines = std::vector<std::string>;

std::unique_ptr<task_owner> owner(settings const& given) { return test::owner_of(components_entry(), given); }

test::owner_facts const facts{
    .name = "components",
    .entry = components_entry,
    .small = {{"uniform", "6"}, {"grain", "3"}},
    .wrong = {test::wrong("label", 4, 3)},
    .refused = {{{"kronecker", "5"}, {"uniform", "5"}},
                {{"kronecker", "5"}, {"graph", "a.el"}},
                {{"seed", "5"}},
                {{"grain", "0"}},
                {{"top", "1001"}}},
    .shipped = {{"top", "2"}},
    .check = [](task_owner const& owner, lines const& said, lines const& labels, std::string const& path) {
      ASSERT_EQ(said.size(), 5U);
      ASSERT_EQ(owner.figures().size(), 2U);
      auto const number = [&](char const* name) {
        return std::to_string(static_cast<std::uint64_t>(test::figure(owner, name)));
      };
      EXPECT_EQ(said[0], number("components") + " components, the largest of " + number("largest_vertices") +
                             " of 63666 vertices");
      EXPECT_EQ(said[1], "labels: " + path);
      EXPECT_EQ(said[2], "largest components:");
      EXPECT_TRUE(said[3].starts_with("   1  " + number("largest_vertices") + " vertices, the lowest is ")) << said[3];
      auto const found = test::column_of<std::uint64_t>(labels);
      for (std::size_t vertex = 0; vertex < found.size(); ++vertex) ASSERT_LE(found[vertex], vertex);
    }};
INSTANTIATE_TEST_SUITE_P(components, graph_owner, testing::Values(facts));

TEST(components_owner, takes_a_seed_with_a_generated_graph) {
  EXPECT_NO_THROW(owner({{"seed", "5"}, {"uniform", "5"}}));
}

TEST(components_owner, lists_the_largest_and_writes_all_labels) {
  test::test_folder const folder;
  // 2 – 1 – 5 in one direction, 0 – 3 in both, 4 with itself, 6 and 7 by an edge
  auto const graph = folder.write("g.el", "2 1\n1 5\n0 3\n3 0\n4 4\n7 6\n");
  runtime side{on_threads()};
  auto const task = owner({{"graph", graph}, {"out", folder.at("out")}, {"top", "3"}});
  task->prepare(executor_of(side));
  EXPECT_GT(test::run_in_bubbles(side, task->describe(), 300us), 0U);
  EXPECT_TRUE(task->verify().ok) << task->verify().message;
  EXPECT_EQ(task->write(),
            (std::vector<std::string>{"4 components, the largest of 3 of 8 vertices", "labels: " + folder.at("out"),
                                      "largest components:", "   1  3 vertices, the lowest is 1",
                                      "   2  2 vertices, the lowest is 0", "   3  2 vertices, the lowest is 6"}));
  EXPECT_EQ(lines_of(folder.at("out")),
            (std::vector<std::string>{"0\t0", "1\t1", "2\t1", "3\t0", "4\t4", "5\t1", "6\t6", "7\t6"}));
  EXPECT_EQ(task->outputs(), std::vector<std::filesystem::path>{folder.at("out")});
  EXPECT_EQ(task->inputs(), std::vector<std::filesystem::path>{graph});
}

TEST(components_owner, one_vertex_is_one_component) {
  test::test_folder const folder;
  runtime side{on_threads()};
  auto const task = owner({{"graph", folder.write("g.el", "0 0\n")}, {"top", "0"}});
  task->prepare(executor_of(side));
  EXPECT_GT(test::run_in_bubbles(side, task->describe(), 300us), 0U);
  EXPECT_TRUE(task->verify().ok);
  EXPECT_EQ(task->write(), std::vector<std::string>{"1 component, the largest of 1 of 1 vertex"});
}

/// Whether a file's edges are there in both directions is found out, not believed.
TEST(components_owner, edges_from_files_go_both_ways) {
  test::test_folder const folder;
  std::string one_way;
  std::string both_ways;
  for (int vertex = 0; vertex < 3000; ++vertex) {
    std::string const from = std::to_string(vertex);
    std::string const to = std::to_string(vertex % 1000 == 0 ? vertex : vertex - 1);
    one_way += from + ' ' + to + '\n';
    both_ways += from + ' ' + to + '\n' + to + ' ' + from + '\n';
  }
  std::vector<std::vector<std::string>> said;
  for (std::string const& text : {one_way, both_ways}) {
    runtime side{on_threads()};
    auto const task = owner({{"graph", folder.write("g.el", text)}, {"grain", "2"}});
    task->prepare(executor_of(side));
    EXPECT_EQ(task->describe().grain, 2U);
    EXPECT_GT(test::run_in_bubbles(side, task->describe(), 300us), 0U);
    EXPECT_TRUE(task->verify().ok) << task->verify().message;
    said.push_back(task->write());
  }
  EXPECT_EQ(said[0], said[1]);
  EXPECT_EQ(said[0].front(), "3 components, the largest of 1000 of 3000 vertices");
}

TEST(components_owner, says_what_it_takes_of_memory) {
  auto const generated = owner({{"kronecker", "10"}})->needs(executor_kind::threads);
  EXPECT_GE(generated.machine_bytes, 32768U * 4 + 1024 * 12);
  EXPECT_GE(generated.preparing_bytes, generated.host_bytes);
  EXPECT_EQ(generated.smaller, "kronecker");
  test::test_folder const folder;
  auto const task = owner({{"graph", folder.write("g.el", "0 1\n1 2\n")}});
  EXPECT_EQ(task->needs(executor_kind::threads).host_bytes, 0U);  // read already
}

}  // namespace
}  // namespace lull
