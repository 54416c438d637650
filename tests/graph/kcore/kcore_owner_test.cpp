// SPDX-License-Identifier: Apache-2.0
// The host half of core numbers: its options, the shipped graph from end to end, and what it refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <lull/graph/kcore/kcore_owner.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/graph/owner_calls.hpp>
#include <lull/tests/graph/run_in_bubbles.hpp>
#include <sstream>
#include <utility>

namespace lull {
namespace {

using namespace std::chrono_literals;
using test::figure;
using test::lines_of;
using test::on_threads;
using test::settings;
using lines = std::vector<std::string>;

std::unique_ptr<task_owner> owner(settings const& given) { return test::owner_of(kcore_entry(), given); }

/// The message of what `prepare` throws, or nothing.
template <class Error>
std::string refusal(settings const& given) {
  return test::refusal_of<Error>(kcore_entry(), given);
}

std::unique_ptr<task_owner> run(runtime& side, settings const& given) {
  return test::run_owner(side, kcore_entry(), given);
}

TEST(KcoreOwner, ItsTableOfOptionsIsSound) {
  task_entry const entry = kcore_entry();
  EXPECT_EQ(entry.name, "kcore");
  EXPECT_NO_THROW(check_options(entry.options));
  EXPECT_TRUE(entry.type(option_values{entry.options}).threads);
}

TEST(KcoreOwner, FindsThoseOfTheShippedPackages) {
  test::test_folder const folder;
  auto const out = folder.at("cores.tsv");
  runtime side{on_threads()};
  auto const packages = run(side, {{"out", out}});
  auto const said = packages->write();
  ASSERT_EQ(said.size(), 3U);
  EXPECT_EQ(said[2], "core numbers: " + out);
  auto const first = lines_of(out);
  ASSERT_EQ(first.size(), 63666U);
  std::uint64_t largest = 0;
  std::uint64_t of_it = 0;
  for (std::size_t vertex = 0; vertex < first.size(); ++vertex) {
    std::istringstream line{first[vertex]};
    std::size_t id = 0;
    std::uint64_t core = 0;
    ASSERT_TRUE(line >> id >> core && line.eof() && id == vertex) << first[vertex];
    if (core > largest) of_it = 0;
    largest = std::max(largest, core);
    if (core == largest) ++of_it;
  }
  EXPECT_EQ(figure(*packages, "degeneracy"), static_cast<double>(largest));
  EXPECT_EQ(figure(*packages, "innermost_vertices"), static_cast<double>(of_it));
  packages->reset();
  EXPECT_FALSE(packages->verify().ok) << "nothing was run";
  EXPECT_GT(test::run_in_bubbles(side, packages->describe(), 300us), 0U);
  EXPECT_TRUE(packages->verify().ok);
  EXPECT_EQ(packages->write(), said);
  EXPECT_EQ(lines_of(out), first);
}

/// A triangle 1, 2, 4 with a tail to 3 and 0, one edge in both directions, one twice; 5 with itself, 6 in no edge.
TEST(KcoreOwner, WritesCoreNumbers) {
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

TEST(KcoreOwner, AGraphWithoutEdgesHasCoreNumber0) {
  test::test_folder const folder;
  runtime side{on_threads()};
  auto const task = run(side, {{"graph", folder.write("g.el", "0 0\n")}});
  EXPECT_EQ(task->write(), (lines{"largest core number (degeneracy): 0, of 1 vertex among 1 and 0 undirected edges",
                                  "0 core numbers above 0, found in 0 waves"}));
}

TEST(KcoreOwner, AVerdictIsOnWhatTheArraysHold) {
  runtime side{on_threads()};
  auto const task = run(side, {{"kronecker", "10"}, {"seed", "4"}});
  for (auto const& array : task->arrays()) {
    if (array.array.name != "core") continue;
    std::int32_t core = 0;  // of the vertex of the highest degree
    executor_of(side).read(&core, array.memory, sizeof core);
    for (std::int32_t const wrong : {core - 1, core + 1, 0, -1}) {
      executor_of(side).write(array.memory, &wrong, sizeof wrong);
      EXPECT_FALSE(task->verify().ok) << wrong;
    }
    executor_of(side).write(array.memory, &core, sizeof core);
    EXPECT_TRUE(task->verify().ok);
  }
}

TEST(KcoreOwner, RefusesWhatItCannotUseBeforeTheWork) {
  test::test_folder const folder;
  EXPECT_THROW(owner({{"kronecker", "5"}, {"uniform", "5"}}), usage_error);
  EXPECT_THROW(owner({{"seed", "5"}}), usage_error);
  EXPECT_THROW(owner({{"grain", "0"}}), usage_error);
  EXPECT_THROW(owner({{"kronecker", "28"}}), usage_error);
  EXPECT_NE(refusal<input_error>({{"graph", folder.at("none.el")}}), "");
  EXPECT_NE(refusal<usage_error>({{"uniform", "5"}, {"out", folder.at("no/such/folder")}}), "");
}

}  // namespace
}  // namespace lull
