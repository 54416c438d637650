// SPDX-License-Identifier: Apache-2.0
// The host half of PageRank: its options, the shipped graph from end to end, and what it refuses.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <lull/graph/pagerank/pagerank_owner.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <lull/tests/graph/graph_owner.hpp>
#include <lull/tests/graph/run_in_bubbles.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using test::graph_owner;
using test::on_threads;
using test::settings;
using lines = std::vector<std::string>;

std::unique_ptr<task_owner> owner(settings const& given) { return test::owner_of(pagerank_entry(), given); }

/// The message of what `prepare` throws, or nothing.
template <class Error>
std::string refusal(settings const& given) {
  return test::refusal_of<Error>(pagerank_entry(), given);
}

test::owner_facts const facts{
    .name = "pagerank",
    .entry = pagerank_entry,
    .small = {{"kronecker", "6"}, {"sweeps", "2"}, {"grain", "3"}},
    .wrong = {test::wrong("rank", 4, std::bit_cast<std::uint32_t>(0.25F))},
    .refused = {{{"kronecker", "5"}, {"uniform", "5"}},
                {{"kronecker", "5"}, {"graph", "a.el"}},
                {{"seed", "5"}},
                {{"damping", "1"}},
                {{"tolerance", "0"}}},
    .shipped = {{"top", "3"}},
    .check = [](task_owner const&, lines const& said, lines const& ranks, std::string const& path) {
      ASSERT_EQ(said.size(), 6U);
      EXPECT_TRUE(said[0].starts_with("converged: ")) << said[0];
      EXPECT_EQ(said[1], "ranks: " + path);
      EXPECT_EQ(said[2], "highest ranks of 63666 vertices:");
      EXPECT_TRUE(said[3].ends_with("  libc6")) << said[3];
      auto const found = test::column_of<double>(ranks);
      EXPECT_NEAR(std::accumulate(found.begin(), found.end(), 0.0), 1, 1e-5);
    }};
INSTANTIATE_TEST_SUITE_P(pagerank, graph_owner, testing::Values(facts));

TEST(pagerank_owner, says_that_it_has_not_converged) {
  runtime side{on_threads()};
  auto const task = test::run_owner(side, pagerank_entry(), {{"uniform", "6"}, {"seed", "5"}, {"sweeps", "2"}});
  EXPECT_TRUE(task->write().front().starts_with("not converged: 2 sweeps"));
}

TEST(pagerank_owner, names_and_edges_come_from_files) {
  test::test_folder const folder;
  auto const graph = folder.write("g.el", "1 0\n2 0\n3 0\n");
  auto const names = folder.write("names.gz", test::gzip("hub\r\na\nb\nc\n"));
  runtime side{on_threads()};
  auto const star = owner({{"graph", graph}, {"names", names}, {"top", "2"}});
  star->prepare(executor_of(side));
  EXPECT_GT(test::run_in_bubbles(side, star->describe(), 300us), 0U);
  auto const said = star->write();
  ASSERT_EQ(said.size(), 4U);
  EXPECT_TRUE(said[2].ends_with("  hub")) << said[2];
  EXPECT_TRUE(said[3].ends_with("  a")) << said[3];  // equal ranks by rising vertex
}

TEST(pagerank_owner, a_name_may_hold_anything_and_lines_end_as_they_do) {
  test::test_folder const folder;
  auto const graph = folder.write("g.el", "1 0\n2 0\n");
  runtime side{on_threads()};
  for (std::string const name : {"hub", "a, \"b\"; c", "# no comment", "1", "\"open", "  blanks  ", "", "\xc3\xbc"}) {
    for (std::string const end : {"\n", "\r\n", "\r"}) {
      for (std::string const mark : {"", "\xef\xbb\xbf"}) {
        auto const names = folder.write("names", mark + name + end + "one" + end + "two" + end);
        auto const star = owner({{"graph", graph}, {"names", names}, {"top", "1"}});
        star->prepare(executor_of(side));
        EXPECT_GT(test::run_in_bubbles(side, star->describe(), 300us), 0U);
        EXPECT_TRUE(star->write().back().ends_with("  " + name)) << name << star->write().back();
      }
    }
  }
}

TEST(pagerank_owner, names_may_stand_after_their_vertices_numbers) {
  test::test_folder const folder;
  auto const graph = folder.write("g.el", "1 0\n2 0\n");
  auto const first_of = [&](std::string const& ids, std::string const& text, std::string const& note) {
    auto const names = folder.write("names", text);
    auto const path = ids == "0" ? graph
                                 : folder.write("g.mtx",
                                                "%%MatrixMarket matrix coordinate pattern general\n"
                                                "3 3 2\n2 1\n3 1\n");
    runtime side{on_threads()};
    auto const star = test::run_owner(side, pagerank_entry(), {{"graph", path}, {"names", names}, {"top", "1"}});
    EXPECT_EQ(star->notes().empty() ? "" : star->notes().back(), note) << text;
    return star->write().back();
  };
  std::string const note = "names: a vertex's number stands before its name";
  for (std::string const divider : {"\t", ",", ";"}) {
    for (std::string const end : {"\n", "\r\n", "\n\n"}) {
      EXPECT_TRUE(first_of("0", "2" + divider + "b\n1" + divider + "a\n0" + divider + "the hub" + end, note)
                      .ends_with("  the hub"))
          << divider;
      EXPECT_TRUE(first_of("1", "3" + divider + "b\n2" + divider + "a\n1" + divider + "hub, 1" + end, note)
                      .ends_with("  hub, 1"))
          << divider;
    }
  }
  for (std::string const name : {"7,hub", "0;hub", "0 hub", "0", "0,"})  // names that look so: not each has a number
    EXPECT_TRUE(first_of("0", name + "\na\nb\n", "").ends_with("  " + name));
  EXPECT_TRUE(first_of("0", "1,hub\n1,a\n2,b\n", "").ends_with("  1,hub"));
  for (std::string const wrong : {"0\ta\n1\tb\n1\tc\n", "0\ta\n1\tb\n3\tc\n"})
    EXPECT_NE(refusal<input_error>({{"graph", graph}, {"names", folder.write("names", wrong)}})
                  .find("names:3: begins with the number"),
              std::string::npos);
}

TEST(pagerank_owner, refuses_names_that_it_cannot_use_before_the_work) {
  test::test_folder const folder;
  auto const graph = folder.write("g.el", "0 1\n1 2\n");
  EXPECT_NE(refusal<input_error>({{"graph", graph}, {"names", folder.at("none")}}), "");
  auto const joined = folder.write("joined", "\xef\xbb\xbfzero\none\n\xef\xbb\xbftwo\n");
  EXPECT_NE(refusal<input_error>({{"graph", graph}, {"names", joined}}).find("joined:3: a byte order mark inside"),
            std::string::npos);
  auto const names = folder.write("names", "zero\none\n");
  EXPECT_NE(refusal<input_error>({{"graph", graph}, {"names", names}}).find("holds 2 names, but the graph has 3"),
            std::string::npos);
  for (std::string const more : {"name\nzero\none\ntwo\n", "zero\none\ntwo\n\nthree\n", "zero\r\none\r\ntwo\r\nthree",
                                 "zero\rone\rtwo\rthree\r", "zero\none\ntwo\n#\n"}) {
    auto const message = refusal<input_error>({{"graph", graph}, {"names", folder.write("more", more)}});
    EXPECT_NE(message.find(": is a name too many: the graph has 3 vertices"), std::string::npos) << message;
  }
}

TEST(pagerank_owner, the_environment_names_the_folder_of_the_shipped_graph) {
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
