// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <lull/graph/bfs/verify_bfs.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/graph_file.hpp>
#include <string>
#include <vector>

namespace lull {
namespace {

using test::rows;
using results = std::vector<bfs_found>;
constexpr bfs_found not_reached{};

struct solved {
  std::string name;
  csr graph;
  std::uint32_t source;
  results found;
};

/// Two ways from 0 to 5, over 1 and 2 to 3 and 4; 6 is behind 5; 7 leads there, but nothing leads to it.
csr lattice() { return rows({{2, 1}, {3, 4, 1}, {4, 3, 0}, {5}, {5, 5}, {6, 0}, {}, {6}}); }
results of_lattice() { return {{0, 0}, {1, 0}, {1, 0}, {2, 1}, {2, 1}, {3, 3}, {4, 5}, not_reached}; }

std::vector<solved> solved_graphs() {
  return {
      {"one vertex", rows({{}}), 0, {{0, 0}}},
      {"self-loop", rows({{0, 0}, {}}), 0, {{0, 0}, not_reached}},
      {"no edges", rows({{}, {}, {}}), 1, {not_reached, {0, 1}, not_reached}},
      {"path backwards", rows({{}, {0}, {1}}), 2, {{2, 1}, {1, 2}, {0, 2}}},
      {"against the edges", rows({{1}, {2}, {}}), 2, {not_reached, not_reached, {0, 2}}},
      {"cycle", rows({{1}, {2}, {3}, {0}}), 2, {{2, 3}, {3, 0}, {0, 2}, {1, 2}}},
      {"duplicates", rows({{1, 1}, {2, 2}, {}}), 0, {{0, 0}, {1, 0}, {2, 1}}},
      {"the lowest parent comes last in the file", rows({{2, 1}, {3}, {3}, {}}), 0, {{0, 0}, {1, 0}, {1, 0}, {2, 1}}},
      {"lattice", lattice(), 0, of_lattice()},
  };
}

TEST(verify_bfs, accepts_solved_graphs) {
  for (auto const& [name, graph, source, found] : solved_graphs()) {
    auto const verdict = verify_bfs(graph, source, found);
    EXPECT_TRUE(verdict.ok) << name << ": " << verdict.message;
  }
}

TEST(verify_bfs, says_what_it_found) {
  EXPECT_EQ(verify_bfs(lattice(), 0, of_lattice()).message, "7 of 8 vertices reached, depth 4");
}

/// Any other label of any vertex makes a result wrong.
TEST(verify_bfs, rejects_every_change_of_a_vertex) {
  for (auto const& [name, graph, source, found] : solved_graphs()) {
    std::vector<std::uint32_t> values{bfs_found::none};
    for (std::uint32_t value = 0; value < graph.vertices() + 2; ++value) values.push_back(value);
    for (std::size_t vertex = 0; vertex < found.size(); ++vertex) {
      for (std::uint32_t const depth : values) {
        for (std::uint32_t const parent : values) {
          results changed = found;
          changed[vertex] = {depth, parent};
          if (changed == found) continue;
          EXPECT_FALSE(verify_bfs(graph, source, changed).ok)
              << name << ": vertex " << vertex << ", depth " << depth << ", parent " << parent;
        }
      }
    }
  }
}

struct mutant {
  std::string says;
  std::function<void(results&)> change;
};

TEST(verify_bfs, tells_each_kind_of_fault) {
  std::vector<mutant> const mutants{
      {"the source is vertex 0 (depth 1)", [](results& found) { found[0].depth = 1; }},
      {"the source is vertex 0 (not reached)", [](results& found) { found[0] = {}; }},
      {"must be its own parent", [](results& found) { found[0].parent = 2; }},
      {"vertex 3 (depth 0) is not the source", [](results& found) { found[3].depth = 0; }},
      {"vertex 7 (not reached) has a parent, vertex 6", [](results& found) { found[7].parent = 6; }},
      {"vertex 4 (depth 2) has no vertex as its parent: 8", [](results& found) { found[4].parent = 8; }},
      {"vertex 4 (depth 2) has no vertex as its parent: 4294967295",
       [](results& found) { found[4].parent = bfs_found::none; }},
      {"vertex 6 (depth 5) is too deep: an edge leads to it from vertex 5 (depth 3)",
       [](results& found) { found[6].depth = 5; }},
      {"vertex 6 (not reached) is too deep", [](results& found) { found[6] = {}; }},
      {"vertex 7 (depth 4) has no edge from a vertex of depth 3",
       [](results& found) {
         found[7] = {4, 0};
       }},
      {"vertex 6 (depth 3) has no edge from a vertex of depth 2",
       [](results& found) {
         found[6] = {3, 5};
       }},
      {"vertex 6 (depth 4) has as its parent vertex 3 (depth 2), from which no edge leads to it",
       [](results& found) { found[6].parent = 3; }},
      {"vertex 3 (depth 2) has as its parent vertex 2 (depth 1), but 1 is the lowest of depth 1 with an edge to it",
       [](results& found) { found[3].parent = 2; }},
      {"vertex 2 (depth 1) has as its parent vertex 1", [](results& found) { found[2].parent = 1; }},
  };
  for (auto const& [says, change] : mutants) {
    results found = of_lattice();
    change(found);
    auto const verdict = verify_bfs(lattice(), 0, found);
    EXPECT_FALSE(verdict.ok) << says;
    EXPECT_NE(verdict.message.find(says), std::string::npos) << says << "\n" << verdict.message;
  }
}

/// All of a cycle one deeper, which each edge by itself allows.
TEST(verify_bfs, rejects_depths_that_hang_together_but_not_on_the_source) {
  csr const graph = rows({{}, {2}, {1}});
  EXPECT_TRUE(verify_bfs(graph, 0, results{{0, 0}, {}, {}}).ok);
  EXPECT_FALSE(verify_bfs(graph, 0, results{{0, 0}, {1, 2}, {2, 1}}).ok);
  EXPECT_FALSE(verify_bfs(graph, 0, results{{0, 0}, {2, 2}, {1, 1}}).ok);
}

TEST(verify_bfs, refuses_what_is_no_result) {
  EXPECT_THROW(verify_bfs(lattice(), 0, results(7)), usage_error);
  EXPECT_THROW(verify_bfs(lattice(), 8, of_lattice()), usage_error);
  EXPECT_THROW(verify_bfs(csr{}, 0, {}), usage_error);
}

}  // namespace
}  // namespace lull
