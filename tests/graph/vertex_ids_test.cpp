// SPDX-License-Identifier: Apache-2.0
// Vertices have the numbers of their file, in options, results and messages, whatever it counts from.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/graph/betweenness/betweenness_owner.hpp>
#include <lull/graph/bfs/bfs_owner.hpp>
#include <lull/graph/components/components_owner.hpp>
#include <lull/graph/kcore/kcore_owner.hpp>
#include <lull/graph/pagerank/pagerank_owner.hpp>
#include <lull/graph/sssp/sssp_owner.hpp>
#include <lull/graph/triangles/triangles_owner.hpp>
#include <lull/host/error.hpp>

#include <lull/tests/graph/owner_calls.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

using test::lines_of;
using test::refusal_of;
using test::run_owner;
using test::settings;
using lines = std::vector<std::string>;

/// 1 → 2 → 3, as each format that counts from 1 has it.
struct one_based {
  test::test_folder folder;
  std::string matrix = folder.write("path.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n");
  std::string dimacs = folder.write("path.gr", "p sp 3 2\na 1 2 1\na 2 3 1\n");
  std::string metis = folder.write("path.graph", "3 2\n2\n1 3\n2\n");
  std::string zero = folder.write("path.el", "0 1\n1 2\n");
  std::string out = folder.at("out.tsv");
  runtime side{test::on_threads()};

  /// What a task says first, and the lines that it writes.
  std::pair<std::string, lines> results(task_entry const& entry, settings given) {
    given.emplace_back("out", out);
    std::string const said = run_owner(side, entry, given)->write().front();
    return {said, lines_of(out)};
  }
};

TEST(vertex_ids, are_those_of_the_file_in_each_format) {
  one_based files;
  for (auto const& graph : {files.matrix, files.dimacs, files.metis}) {
    for (auto const& entry : {bfs_entry(), sssp_entry()}) {
      auto const [said, written] = files.results(entry, {{"graph", graph}, {"source", "1"}});
      EXPECT_EQ(said.substr(0, 34), "from vertex 1: 3 vertices reached,") << graph;
      EXPECT_EQ(written, (lines{"1\t0\t1", "2\t1\t1", "3\t2\t2"})) << graph;
      auto const verdict = run_owner(files.side, entry, {{"graph", graph}, {"source", "1"}})->verify();
      EXPECT_EQ(verdict.message.substr(0, 36), "from vertex 1: 3 of 3 vertices reach") << graph;
    }
  }
  auto const [said, written] = files.results(bfs_entry(), {{"graph", files.zero}, {"source", "1"}});
  EXPECT_EQ(said.substr(0, 34), "from vertex 1: 2 vertices reached,");
  EXPECT_EQ(written, (lines{"0\t-1\t-1", "1\t0\t1", "2\t1\t1"}));
}

TEST(vertex_ids, count_from_0_where_asked) {
  one_based files;
  settings const zero{{"graph", files.matrix}, {"ids", "zero"}};
  auto with = [&](std::string const& name, std::string const& value) {
    settings made = zero;
    made.emplace_back(name, value);
    return made;
  };
  EXPECT_EQ(files.results(bfs_entry(), with("source", "0")).second, (lines{"0\t0\t0", "1\t1\t0", "2\t2\t1"}));
  EXPECT_EQ(files.results(bfs_entry(), with("sources", files.folder.write("list", "2\n"))).second,
            (lines{"2\t0\t-1\t-1", "2\t1\t-1\t-1", "2\t2\t0\t2"}));
  EXPECT_EQ(files.results(components_entry(), zero).second, (lines{"0\t0", "1\t0", "2\t0"}));
}

TEST(vertex_ids, are_those_of_the_file_in_lists_of_sources) {
  one_based files;
  settings const list{{"graph", files.matrix}, {"sources", files.folder.write("list", "3\n1\n")}};
  EXPECT_EQ(files.results(bfs_entry(), list).second,
            (lines{"3\t1\t-1\t-1", "3\t2\t-1\t-1", "3\t3\t0\t3", "1\t1\t0\t1", "1\t2\t1\t1", "1\t3\t2\t2"}));
  auto const [said, written] = files.results(betweenness_entry(), {{"graph", files.matrix}, {"source", "1"}});
  EXPECT_NE(said.find("the highest is 1, of vertex 2"), std::string::npos) << said;
  EXPECT_EQ(written, (lines{"1\t0", "2\t1", "3\t0"}));
}

TEST(vertex_ids, are_those_of_the_file_in_results_of_all_vertices) {
  one_based files;
  settings const graph{{"graph", files.matrix}};
  EXPECT_EQ(files.results(components_entry(), graph).second, (lines{"1\t1", "2\t1", "3\t1"}));
  EXPECT_EQ(files.results(kcore_entry(), graph).second, (lines{"1\t1", "2\t1", "3\t1"}));
  auto const triangle = files.folder.write("triangle.gr", "p sp 4 3\na 2 3 1\na 3 4 1\na 4 2 1\n");
  EXPECT_EQ(files.results(triangles_entry(), {{"graph", triangle}}).second, (lines{"1\t0", "2\t1", "3\t1", "4\t1"}));
  EXPECT_TRUE(files.results(pagerank_entry(), graph).second.front().starts_with("1\t"));
  auto const said = run_owner(files.side, pagerank_entry(), graph)->write();
  EXPECT_NE(said.at(2).find("vertex 3"), std::string::npos) << said.at(2);
  auto const parts = run_owner(files.side, components_entry(), graph)->write();
  EXPECT_NE(parts.back().find("3 vertices, the lowest is 1"), std::string::npos) << parts.back();
}

TEST(vertex_ids, of_wrong_results_count_from_0_and_say_so) {
  one_based files;
  auto const task = run_owner(files.side, components_entry(), {{"graph", files.matrix}});
  std::uint32_t const wrong = 2;
  for (auto const& each : task->arrays()) {
    if (each.array.name == "label") executor_of(files.side).write(each.memory, &wrong, sizeof wrong);
  }
  EXPECT_TRUE(task->verify().message.ends_with("(vertices counted from 0)")) << task->verify().message;
}

TEST(vertex_ids, of_errors_are_those_of_the_file) {
  one_based files;
  auto const refusal = [&](settings given) {
    given.emplace_back("graph", files.matrix);
    return refusal_of<usage_error>(bfs_entry(), given);
  };
  EXPECT_EQ(refusal({{"source", "0"}}), "bfs: source=0 is no vertex: the graph has vertices 1 to 3");
  EXPECT_EQ(refusal({{"source", "4"}}), "bfs: source=4 is no vertex: the graph has vertices 1 to 3");
  EXPECT_EQ(refusal({{"source", "3"}, {"ids", "zero"}}), "bfs: source=3 is no vertex: the graph has vertices 0 to 2");
  auto const list = files.folder.write("list", "1\n0\n");
  EXPECT_EQ(refusal_of<input_error>(bfs_entry(), {{"graph", files.matrix}, {"sources", list}}),
            list + ":2: vertex 0 does not exist: the graph has vertices 1 to 3");
  auto const negative = files.folder.write("negative.gr", "p sp 4 2\na 1 2 3\na 3 4 -1\n");
  EXPECT_EQ(refusal_of<input_error>(sssp_entry(), {{"graph", negative}}),
            negative + ":3: the edge from 3 to 4: the weight `-1` is negative: a weight must be from 0 to 2^96");
}

TEST(vertex_ids, tasks_without_weights_take_any_number_for_one) {
  test::test_folder const folder;
  runtime side{test::on_threads()};
  auto const graph = folder.write("odd.wel", "0 1 nan\n1 2 1e39\n2 0 1e-50\n");
  for (auto const& entry :
       {betweenness_entry(), bfs_entry(), components_entry(), kcore_entry(), pagerank_entry(), triangles_entry()})
    run_owner(side, entry, {{"graph", graph}});
  EXPECT_EQ(refusal_of<input_error>(sssp_entry(), {{"graph", graph}}),
            graph + ":1: the edge from 0 to 1: the weight `nan` is not a finite number that fits a float");
  auto const undirected = run_owner(
      side, bfs_entry(), {{"graph", folder.write("up.csv", "1,0\n2,1\n")}, {"source", "0"}, {"undirected", "yes"}});
  EXPECT_EQ(test::figure(*undirected, "reached"), 3);
  EXPECT_NE(undirected->notes().back().find("up.csv is read as an edge list"), std::string::npos);
}

TEST(vertex_ids, names_are_as_many_as_vertices) {
  test::test_folder const folder;
  auto const graph = folder.write("g.el", "0 1\n");
  auto const refusal = [&](std::string const& text) {
    std::string const names = folder.write("names", text);
    std::string const says = refusal_of<input_error>(pagerank_entry(), {{"graph", graph}, {"names", names}});
    return says.empty() ? says : says.substr(names.size());
  };
  for (std::string const text : {"a\nb\n", "a\nb", "a\r\nb\r\n", "\n\n", "a\nb\n\n"})
    EXPECT_EQ(refusal(text), "") << text;
  for (std::string const text : {"a\nb\nc\n", "a\nb\nc", "name\na\nb\n"})
    EXPECT_EQ(refusal(text), ":3: is a name too many: the graph has 2 vertices, and each has a line (no heading)")
        << text;
  EXPECT_EQ(refusal("a\n"), ": holds 1 names, but the graph has 2 vertices");
}

}  // namespace
}  // namespace lull
