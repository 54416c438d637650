// SPDX-License-Identifier: Apache-2.0
// The host half of connected components: its options, the shipped graph from end to end, and what it refuses.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <lull/graph/components/components_owner.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/graph/owner_calls.hpp>
#include <lull/tests/graph/run_in_bubbles.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using test::lines_of;
using test::on_threads;
using test::settings;

std::unique_ptr<task_owner> owner(settings const& given) { return test::owner_of(components_entry(), given); }

/// The message of what `prepare` throws, or nothing.
template <class Error>
std::string refusal(settings const& given) {
  return test::refusal_of<Error>(components_entry(), given);
}

TEST(ComponentsOwner, ItsTableOfOptionsIsSound) {
  task_entry const entry = components_entry();
  EXPECT_EQ(entry.name, "components");
  EXPECT_NO_THROW(check_options(entry.options));
  EXPECT_TRUE(entry.type(option_values{entry.options}).threads);
}

TEST(ComponentsOwner, FindsThoseOfTheShippedPackages) {
  test::test_folder const folder;
  runtime side{on_threads()};
  auto const packages = owner({{"out", folder.at("labels.tsv")}, {"top", "2"}});
  packages->prepare(executor_of(side));
  EXPECT_FALSE(packages->verify().ok) << "before the run";
  std::vector<std::vector<std::string>> runs;
  for (int run = 0; run < 2; ++run) {
    EXPECT_GT(test::run_in_bubbles(side, packages->describe(), 300us), 0U);
    auto const verdict = packages->verify();
    EXPECT_TRUE(verdict.ok) << verdict.message;
    auto const said = packages->write();
    ASSERT_EQ(said.size(), 5U);
    auto const figures = packages->figures();
    ASSERT_EQ(figures.size(), 2U);
    EXPECT_EQ(figures[0].name, "components");
    EXPECT_EQ(figures[1].name, "largest_vertices");
    auto const number = [](double value) { return std::to_string(static_cast<std::uint64_t>(value)); };
    EXPECT_EQ(said[0], number(figures[0].value) + " components, the largest of " + number(figures[1].value) +
                           " of 63666 vertices");
    EXPECT_EQ(said[1], "labels: " + folder.at("labels.tsv"));
    EXPECT_EQ(said[2], "largest components:");
    EXPECT_TRUE(said[3].starts_with("   1  " + number(figures[1].value) + " vertices, the lowest is ")) << said[3];
    runs.push_back(lines_of(folder.at("labels.tsv")));
    packages->reset();
  }
  EXPECT_EQ(runs[0], runs[1]);
  ASSERT_EQ(runs[0].size(), 63666U);
  for (std::size_t vertex = 0; vertex < runs[0].size(); ++vertex) {
    std::istringstream line{runs[0][vertex]};
    std::size_t id = 0;
    std::size_t label = 0;
    ASSERT_TRUE(line >> id >> label && line.eof() && id == vertex && label <= vertex) << runs[0][vertex];
  }
}

TEST(ComponentsOwner, ListsTheLargestAndWritesAllLabels) {
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

TEST(ComponentsOwner, OneVertexIsOneComponent) {
  test::test_folder const folder;
  runtime side{on_threads()};
  auto const task = owner({{"graph", folder.write("g.el", "0 0\n")}, {"top", "0"}});
  task->prepare(executor_of(side));
  EXPECT_GT(test::run_in_bubbles(side, task->describe(), 300us), 0U);
  EXPECT_TRUE(task->verify().ok);
  EXPECT_EQ(task->write(), std::vector<std::string>{"1 component, the largest of 1 of 1 vertex"});
}

/// Whether a file's edges are there in both directions is found out, not believed.
TEST(ComponentsOwner, EdgesFromFilesGoBothWays) {
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

TEST(ComponentsOwner, AVerdictIsOnWhatTheArraysHold) {
  runtime side{on_threads()};
  auto const task = owner({{"uniform", "6"}});
  task->prepare(executor_of(side));
  EXPECT_FALSE(task->verify().ok) << "labels of zero are right by chance, but the run is not over";
  EXPECT_GT(test::run_in_bubbles(side, task->describe(), 300us), 0U);
  EXPECT_TRUE(task->verify().ok) << task->verify().message;
  std::uint32_t const wrong = 3;
  executor_of(side).write(task->arrays().front().memory, &wrong, sizeof wrong);
  EXPECT_FALSE(task->verify().ok);
}

TEST(ComponentsOwner, RefusesWhatExcludesEachOther) {
  EXPECT_THROW(owner({{"kronecker", "5"}, {"uniform", "5"}}), usage_error);
  EXPECT_THROW(owner({{"kronecker", "5"}, {"graph", "a.el"}}), usage_error);
  EXPECT_THROW(owner({{"seed", "5"}}), usage_error);
  EXPECT_NO_THROW(owner({{"seed", "5"}, {"uniform", "5"}}));
  EXPECT_THROW(owner({{"grain", "0"}}), usage_error);
  EXPECT_THROW(owner({{"top", "1001"}}), usage_error);
}

TEST(ComponentsOwner, RefusesFilesItCannotUseBeforeTheWork) {
  test::test_folder const folder;
  auto const graph = folder.write("g.el", "0 1\n1 2\n");
  EXPECT_NE(refusal<input_error>({{"graph", folder.at("none.el")}}), "");
  EXPECT_NE(refusal<usage_error>({{"graph", graph}, {"out", folder.at("no/such/folder")}}).find("components: out="),
            std::string::npos);
}

TEST(ComponentsOwner, SaysWhatItTakesOfMemory) {
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
