// SPDX-License-Identifier: Apache-2.0
// The host half of counting triangles: its options, the shipped graph from end to end, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <lull/graph/triangles/triangles_owner.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/graph/owner_calls.hpp>
#include <lull/tests/graph/run_in_bubbles.hpp>
#include <numeric>
#include <sstream>
#include <utility>

namespace lull {
namespace {

using namespace std::chrono_literals;
using test::lines_of;
using test::on_threads;
using test::settings;

std::unique_ptr<task_owner> owner(settings const& given) { return test::owner_of(triangles_entry(), given); }

TEST(TrianglesOwner, ItsTableOfOptionsIsSound) {
  task_entry const entry = triangles_entry();
  EXPECT_EQ(entry.name, "triangles");
  EXPECT_NO_THROW(check_options(entry.options));
  EXPECT_TRUE(entry.type(option_values{entry.options}).threads);
}

TEST(TrianglesOwner, CountsThoseOfTheShippedPackages) {
  test::test_folder const folder;
  runtime side{on_threads()};
  auto const packages = owner({{"out", folder.at("counts.tsv")}, {"top", "2"}});
  packages->prepare(executor_of(side));
  EXPECT_FALSE(packages->verify().ok) << "before the run";
  for (int run = 0; run < 2; ++run) {
    EXPECT_GT(test::run_in_bubbles(side, packages->describe(), 300us), 0U);
    auto const verdict = packages->verify();
    EXPECT_TRUE(verdict.ok) << verdict.message;
    auto const said = packages->write();
    ASSERT_EQ(said.size(), 6U);
    EXPECT_EQ(said[0], "401985 triangles among 63666 vertices and 248270 undirected edges");
    EXPECT_TRUE(said[1].starts_with("transitivity: 0.00")) << said[1];
    EXPECT_EQ(said[2], "triangles of each vertex: " + folder.at("counts.tsv"));
    EXPECT_EQ(said[3], "vertices in most triangles, of 63666:");
    EXPECT_TRUE(said[4].starts_with("   1  105946  vertex ")) << said[4];
    auto const figures = packages->figures();
    ASSERT_EQ(figures.size(), 3U);
    EXPECT_EQ(figures[0].name, "triangles");
    EXPECT_EQ(figures[0].value, 401985);
    EXPECT_NEAR(figures[2].value, 3 * figures[0].value / figures[1].value, 1e-12);
    packages->reset();
  }
  auto const counts = lines_of(folder.at("counts.tsv"));
  ASSERT_EQ(counts.size(), 63666U);
  std::uint64_t sum = 0;
  for (std::size_t vertex = 0; vertex < counts.size(); ++vertex) {
    std::istringstream line{counts[vertex]};
    std::size_t id = 0;
    std::uint64_t count = 0;
    ASSERT_TRUE(line >> id >> count && line.eof() && id == vertex) << counts[vertex];
    ASSERT_EQ(counts[vertex], std::to_string(id) + '\t' + std::to_string(count));
    sum += count;
  }
  EXPECT_EQ(sum, 3 * 401985U);
}

TEST(TrianglesOwner, EdgesOfAFileAreUndirected) {
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

TEST(TrianglesOwner, AGraphWithoutEdgesHasNone) {
  test::test_folder const folder;
  runtime side{on_threads()};
  auto const task = owner({{"graph", folder.write("g.el", "3 3\n")}, {"top", "0"}});
  task->prepare(executor_of(side));
  test::run_in_bubbles(side, task->describe(), 300us);
  EXPECT_TRUE(task->verify().ok) << task->verify().message;
  EXPECT_EQ(task->write().front(), "0 triangles among 4 vertices and 0 undirected edges");
  EXPECT_EQ(task->figures()[2].value, 0);
}

TEST(TrianglesOwner, AVerdictIsOnWhatTheArraysHold) {
  runtime side{on_threads()};
  auto const task = owner({{"kronecker", "6"}});
  task->prepare(executor_of(side));
  EXPECT_GT(test::run_in_bubbles(side, task->describe(), 300us), 0U);
  ASSERT_TRUE(task->verify().ok);
  for (auto const& one : task->arrays()) {
    std::uint64_t right = 0;
    executor_of(side).read(&right, one.memory, sizeof right);
    std::uint64_t const wrong = right + 1;
    executor_of(side).write(one.memory, &wrong, sizeof wrong);
    EXPECT_FALSE(task->verify().ok) << one.array.name;
    executor_of(side).write(one.memory, &right, sizeof right);
  }
  EXPECT_TRUE(task->verify().ok);
}

TEST(TrianglesOwner, NeedsAsMuchAsItTakes) {
  for (settings const& given : {settings{{"kronecker", "14"}}, {{"uniform", "14"}}, {}}) {
    auto const need = owner(given)->needs(executor_kind::threads);
    auto const executor = make_executor({.kind = executor_kind::threads, .memory_limit_bytes = need.machine_bytes});
    auto const task = owner(given);
    EXPECT_NO_THROW(task->prepare(*executor));
  }
}

TEST(TrianglesOwner, RefusesBeforeTheWork) {
  EXPECT_THROW(owner({{"kronecker", "5"}, {"uniform", "5"}}), usage_error);
  EXPECT_THROW(owner({{"seed", "5"}}), usage_error);
  EXPECT_THROW(owner({{"top", "1001"}}), usage_error);
  test::test_folder const folder;
  auto const executor = make_executor({.kind = executor_kind::threads});
  EXPECT_THROW(owner({{"graph", folder.at("none.el")}})->prepare(*executor), input_error);
  EXPECT_THROW(owner({{"kronecker", "5"}, {"out", folder.at("no/such/folder")}})->prepare(*executor), usage_error);
}

}  // namespace
}  // namespace lull
