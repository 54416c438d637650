// SPDX-License-Identifier: Apache-2.0
// The host half of PageRank: its options, the shipped graph from end to end, and what it refuses.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <lull/graph/pagerank/pagerank_owner.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/graph/owner_calls.hpp>
#include <lull/tests/graph/run_in_bubbles.hpp>
#include <sstream>
#include <utility>

namespace lull {
namespace {

using namespace std::chrono_literals;
using test::lines_of;
using test::on_threads;
using test::settings;

std::unique_ptr<task_owner> owner(settings const& given) { return test::owner_of(pagerank_entry(), given); }

/// The message of what `prepare` throws, or nothing.
template <class Error>
std::string refusal(settings const& given) {
  return test::refusal_of<Error>(pagerank_entry(), given);
}

TEST(PagerankOwner, ItsTableOfOptionsIsSound) {
  task_entry const entry = pagerank_entry();
  EXPECT_EQ(entry.name, "pagerank");
  EXPECT_NO_THROW(check_options(entry.options));
  EXPECT_TRUE(entry.type(option_values{entry.options}).threads);
}

TEST(PagerankOwner, RanksTheShippedPackages) {
  test::test_folder const folder;
  runtime side{on_threads()};
  auto const packages = owner({{"out", folder.at("ranks.tsv")}, {"top", "3"}});
  packages->prepare(executor_of(side));
  std::vector<std::vector<std::string>> runs;
  for (int run = 0; run < 2; ++run) {
    EXPECT_GT(test::run_in_bubbles(side, packages->describe(), 300us), 0U);
    auto const verdict = packages->verify();
    EXPECT_TRUE(verdict.ok) << verdict.message;
    auto const said = packages->write();
    ASSERT_EQ(said.size(), 6U);
    EXPECT_TRUE(said[0].starts_with("converged: ")) << said[0];
    EXPECT_EQ(said[1], "ranks: " + folder.at("ranks.tsv"));
    EXPECT_EQ(said[2], "highest ranks of 63666 vertices:");
    EXPECT_TRUE(said[3].ends_with("  libc6")) << said[3];
    runs.push_back(lines_of(folder.at("ranks.tsv")));
    packages->reset();
  }
  EXPECT_EQ(runs[0], runs[1]);
  ASSERT_EQ(runs[0].size(), 63666U);
  double sum = 0;
  for (std::size_t vertex = 0; vertex < runs[0].size(); ++vertex) {
    std::istringstream line{runs[0][vertex]};
    std::size_t id = 0;
    double rank = 0;
    ASSERT_TRUE(line >> id >> rank && line.eof() && id == vertex) << runs[0][vertex];
    sum += rank;
  }
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST(PagerankOwner, NamesAndEdgesComeFromFiles) {
  test::test_folder const folder;
  auto const graph = folder.write("g.el", "1 0\n2 0\n3 0\n");
  auto const names = folder.write("names.gz", test::gzip("hub\r\na\nb\nc\nmore than there are vertices\n"));
  runtime side{on_threads()};
  auto const star = owner({{"graph", graph}, {"names", names}, {"top", "2"}});
  star->prepare(executor_of(side));
  EXPECT_GT(test::run_in_bubbles(side, star->describe(), 300us), 0U);
  auto const said = star->write();
  ASSERT_EQ(said.size(), 4U);
  EXPECT_TRUE(said[2].ends_with("  hub")) << said[2];
  EXPECT_TRUE(said[3].ends_with("  a")) << said[3];  // equal ranks by rising vertex
}

TEST(PagerankOwner, AVerdictIsOnWhatTheArraysHold) {
  runtime side{on_threads()};
  auto const task = owner({{"kronecker", "6"}, {"sweeps", "2"}, {"grain", "3"}});
  task->prepare(executor_of(side));
  EXPECT_EQ(task->describe().grain, 3U);
  EXPECT_GT(test::run_in_bubbles(side, task->describe(), 300us), 0U);
  EXPECT_TRUE(task->verify().ok);
  EXPECT_TRUE(task->write().front().starts_with("not converged: 2 sweeps"));
  auto const arrays = task->arrays();
  auto const rank =
      std::find_if(arrays.begin(), arrays.end(), [](auto const& one) { return one.array.name == "rank"; });
  ASSERT_NE(rank, arrays.end());
  float const wrong = 0.25F;
  executor_of(side).write(rank->memory, &wrong, sizeof wrong);
  EXPECT_FALSE(task->verify().ok);
}

TEST(PagerankOwner, RefusesWhatExcludesEachOther) {
  EXPECT_THROW(owner({{"kronecker", "5"}, {"uniform", "5"}}), usage_error);
  EXPECT_THROW(owner({{"kronecker", "5"}, {"graph", "a.el"}}), usage_error);
  EXPECT_THROW(owner({{"seed", "5"}}), usage_error);
  EXPECT_NO_THROW(owner({{"seed", "5"}, {"uniform", "5"}}));
  EXPECT_THROW(owner({{"damping", "1"}}), usage_error);
  EXPECT_THROW(owner({{"tolerance", "0"}}), usage_error);
}

TEST(PagerankOwner, RefusesFilesItCannotUseBeforeTheWork) {
  test::test_folder const folder;
  auto const graph = folder.write("g.el", "0 1\n1 2\n");
  EXPECT_NE(refusal<input_error>({{"graph", folder.at("none.el")}}), "");
  EXPECT_NE(refusal<input_error>({{"graph", graph}, {"names", folder.at("none")}}), "");
  auto const names = folder.write("names", "zero\none\n");
  EXPECT_NE(refusal<input_error>({{"graph", graph}, {"names", names}}).find("holds 2 names, but the graph has 3"),
            std::string::npos);
  EXPECT_NE(refusal<usage_error>({{"graph", graph}, {"out", folder.at("no/such/folder")}}), "");
}

TEST(PagerankOwner, TheEnvironmentNamesTheFolderOfTheShippedGraph) {
  test::test_folder const folder;
  ASSERT_EQ(setenv("LULL_DATA", folder.at("").c_str(), 1), 0);
  auto const message = refusal<input_error>({});
  EXPECT_NE(message.find(folder.at("")), std::string::npos) << message;
  EXPECT_NE(message.find("LULL_DATA"), std::string::npos) << message;
  folder.write("debian12-packages.el.gz", test::gzip("0 1\n"));
  folder.write("debian12-packages.names.gz", test::gzip("a\nb\n"));
  EXPECT_EQ(refusal<error>({}), "");
  unsetenv("LULL_DATA");
}

}  // namespace
}  // namespace lull
