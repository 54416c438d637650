// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <lull/graph/triangles/verify_triangles.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/graph/triangle_graphs.hpp>
#include <numeric>

namespace lull {
namespace {

struct known_graph {
  std::string name;
  csr graph;
  std::vector<std::uint64_t> counts;
  std::uint64_t total;
};

std::vector<known_graph> known_graphs() {
  std::vector<known_graph> made;
  for (auto& [name, graph] : test::triangle_graphs()) {
    auto const counts = test::triangles_by_definition(graph);
    std::uint64_t const total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) / 3;
    made.push_back({name, std::move(graph), counts, total});
  }
  return made;
}

constexpr triangles_check sampled{.max_steps = 0, .sample = 50};  // where there is a step at all

bool says(triangles_verdict const& verdict, std::string const& words) {
  return verdict.message.find(words) != std::string::npos;
}

TEST(verify_triangles, accepts_what_the_definition_says) {
  for (auto const& [name, graph, counts, total] : known_graphs()) {
    for (unsigned const threads : {1U, 3U}) {
      auto const verdict = verify_triangles(graph, counts, total, {.threads = threads});
      EXPECT_TRUE(verdict.ok) << name << ": " << verdict.message;
      EXPECT_EQ(verdict.compared, graph.vertices()) << name;
    }
    auto const verdict = verify_triangles(graph, counts, total, sampled);
    EXPECT_TRUE(verdict.ok) << name << ": " << verdict.message;
  }
}

TEST(verify_triangles, rejects_a_wrong_count_of_any_vertex) {
  for (auto const& [name, graph, counts, total] : known_graphs()) {
    for (std::size_t vertex = 0; vertex < counts.size(); vertex += 1 + counts.size() / 40) {
      for (std::uint64_t const off : {std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{3}}) {
        auto wrong = counts;
        wrong[vertex] += off;
        auto const verdict = verify_triangles(graph, wrong, total);
        EXPECT_FALSE(verdict.ok) << name;
        EXPECT_TRUE(says(verdict, "1 have a wrong count; vertex " + std::to_string(vertex) + " is in " +
                                      std::to_string(counts[vertex]) + " triangles, not in " +
                                      std::to_string(wrong[vertex])))
            << verdict.message;
      }
    }
  }
}

TEST(verify_triangles, rejects_counts_that_changed_places) {  // their sum is right
  csr const graph = test::wheel(30, true);
  auto wrong = test::triangles_by_definition(graph);
  std::swap(wrong[15], wrong[29]);  // the hub is vertex 15
  for (auto const& check : {triangles_check{}, sampled}) {
    auto const verdict = verify_triangles(graph, wrong, 30, check);
    EXPECT_FALSE(verdict.ok);
    EXPECT_TRUE(says(verdict, "2 have a wrong count; vertex 15 is in 30 triangles, not in 2")) << verdict.message;
  }
}

TEST(verify_triangles, rejects_a_wrong_total) {
  for (auto const& [name, graph, counts, total] : known_graphs()) {
    for (auto const& check : {triangles_check{}, sampled}) {
      auto const verdict = verify_triangles(graph, counts, total + 1, check);
      EXPECT_FALSE(verdict.ok) << name;
      EXPECT_TRUE(says(verdict, "the total says " + std::to_string(total + 1) + " triangles, but there are " +
                                    std::to_string(total)))
          << verdict.message;
    }
  }
}

TEST(verify_triangles, a_sample_is_of_vertices_with_two_neighbours_and_says_so) {
  csr const graph = test::wheel(500, true, 300);
  auto const counts = test::triangles_by_definition(graph);
  auto const verdict = verify_triangles(graph, counts, 500, sampled);
  EXPECT_TRUE(verdict.ok) << verdict.message;
  EXPECT_EQ(verdict.compared, 50U);
  EXPECT_TRUE(says(verdict, "50 sampled vertices")) << verdict.message;
  EXPECT_TRUE(says(verdict, "a third of the counts' sum")) << verdict.message;
  // One wrong count in ten is found among fifty; the verdict is the same each time.
  auto wrong = counts;
  for (std::size_t vertex = 0; vertex < 501; vertex += 10) wrong[vertex] += 3;
  auto const rejected = verify_triangles(graph, wrong, 500 + 51, sampled);
  EXPECT_FALSE(rejected.ok);
  EXPECT_TRUE(says(rejected, "of 50 sampled vertices")) << rejected.message;
  EXPECT_EQ(rejected.message, verify_triangles(graph, wrong, 500 + 51, sampled).message);
}

TEST(verify_triangles, a_sample_has_counts_that_add_up) {
  csr const graph = test::wheel(500, true, 300);
  auto counts = test::triangles_by_definition(graph);
  counts[700] += 1;  // isolated: not in the sample
  auto const verdict = verify_triangles(graph, counts, 500, sampled);
  EXPECT_FALSE(verdict.ok);
  EXPECT_TRUE(says(verdict, "add up to 1501, which is not divisible by 3")) << verdict.message;
  counts[700] += 2;
  EXPECT_TRUE(says(verify_triangles(graph, counts, 500, sampled), "says 500 triangles, but there are 501"));
}

TEST(verify_triangles, refuses_bad_usage) {
  csr graph = test::graph_of(2, {{0, 1}});
  EXPECT_THROW(verify_triangles(graph, std::vector<std::uint64_t>(3), 0), usage_error);
  graph.targets[0] = 2;
  EXPECT_THROW(verify_triangles(graph, std::vector<std::uint64_t>(2), 0), usage_error);
}

}  // namespace
}  // namespace lull
