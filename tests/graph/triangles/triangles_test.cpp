// SPDX-License-Identifier: Apache-2.0
// The functor on CPU threads, in teams of one and of four: right by definition, and the same bits however it is run.
#include <gtest/gtest.h>

#include <atomic>
#include <lull/graph/load/generate.hpp>
#include <lull/graph/triangles/triangles_arrays.hpp>
#include <lull/tests/graph/task_on_threads.hpp>
#include <lull/tests/graph/triangle_graphs.hpp>
#include <numeric>

namespace lull {
namespace {

/// So small that pairs are spread over items and rows over lists in graphs that a person can see through.
using small_triangles = basic_triangles<32, 8, 16, 32>;
static_assert(is_side_task<small_triangles>());

struct result {
  std::vector<std::uint64_t> counts;
  std::uint64_t total = 0;
  bool operator==(result const&) const = default;
};

template <class Task>
result result_of(triangles_arrays<Task> const& arrays) {
  return {arrays.counts(), arrays.total()};
}

class triangles_on_threads : public test::task_on_threads {
 protected:
  /// An uninterrupted run, without worker and protocol.
  template <class Task>
  result plainly(csr const& graph, std::uint32_t grain = 1, int processors = 2) const {
    auto const threads = executor_for(processors);
    triangles_arrays<Task> const arrays{*threads, graph};
    test::run_task(*threads, arrays.task(), grain);
    return result_of(arrays);
  }

  template <class Task>
  void expect_right(test::triangle_graph const& one) const {
    result const found = plainly<Task>(one.graph);
    std::vector<std::uint64_t> const counts = test::triangles_by_definition(one.graph);
    EXPECT_EQ(found.counts, counts) << one.name;
    EXPECT_EQ(3 * found.total, std::accumulate(counts.begin(), counts.end(), std::uint64_t{0})) << one.name;
  }
};

TEST_P(triangles_on_threads, counts_triangles_at_each_vertex) {
  for (auto const& one : test::triangle_graphs()) {
    expect_right<triangles>(one);
    if (solo() || one.graph.edges() < 3000) expect_right<small_triangles>(one);
  }
}

TEST_P(triangles_on_threads, counts_cliques_about_the_limits_of_items) {
  std::uint64_t const max = solo() ? 40 : 20;
  for (std::uint32_t vertices = 2; vertices < max; ++vertices) {  // rows of up to 38 in lists of 16
    result const found = plainly<small_triangles>(test::graph_of(vertices + 3, test::clique(3, vertices)));
    EXPECT_EQ(found.total, std::uint64_t{vertices} * (vertices - 1) * (vertices - 2) / 6) << vertices;
    for (std::uint32_t vertex = 0; vertex < vertices + 3; ++vertex) {
      EXPECT_EQ(found.counts[vertex], vertex < 3 ? 0U : (vertices - 1) * (vertices - 2) / 2) << vertices;
    }
  }
}

TEST_P(triangles_on_threads, is_right_in_items_of_any_size) {
  test::triangle_graph const one{"kronecker", generate_kronecker({.scale = solo() ? 8U : 5U})};
  expect_right<basic_triangles<1, 1, 1, 32>>(one);
  expect_right<basic_triangles<3, 100, 1000, 32>>(one);
  expect_right<basic_triangles<1000, 3, 1000, 32>>(one);
  expect_right<basic_triangles<1000, 100, 3, 32>>(one);
  expect_right<basic_triangles<65535, 1000, 10000, 1024>>(one);
}

TEST_P(triangles_on_threads, grain_and_blocks_change_no_bit) {
  for (csr const& graph : {test::medley(), generate_kronecker({.scale = solo() ? 8U : 5U})}) {
    result const expected = plainly<small_triangles>(graph, 1, 1);
    for (std::uint32_t const grain : {2U, 7U, 1000U}) {
      EXPECT_EQ(plainly<small_triangles>(graph, grain, 3), expected) << grain;
    }
  }
}

TEST_P(triangles_on_threads, preemption_changes_no_bit) {
  for (csr const& graph : {test::medley(), generate_kronecker({.scale = 7})}) {
    result const expected = plainly<small_triangles>(graph);
    runtime side{in_bubbles()};
    triangles_arrays<small_triangles> arrays{executor_of(side), graph};
    expect_same_when_preempted(
        side, arrays, [&] { EXPECT_EQ(result_of(arrays), expected); }, std::to_string(graph.vertices()) + " vertices");
    EXPECT_EQ(result_of(arrays), (result{std::vector<std::uint64_t>(graph.vertices()), 0}));
  }
}

/// Counts the rounds that end.
struct counted_rounds : small_triangles {
  std::atomic<std::uint64_t>* ended;

  void advance(position, auto const& team) const noexcept {
    if (team.rank() == 0) ++*ended;
  }
};

TEST_P(triangles_on_threads, each_trial_counts_from_zero) {
  csr const graph = generate_kronecker({.scale = 12, .edge_factor = 1});  // in several items that are cleared
  result const expected = plainly<small_triangles>(graph);
  ASSERT_GT(graph.vertices(), small_triangles::cleared);
  runtime side{in_bubbles()};
  triangles_arrays<small_triangles> const arrays{executor_of(side), graph, 3};
  std::atomic<std::uint64_t> ended{0};
  EXPECT_GT(test::run_in_chosen_bubbles(side, counted_rounds{{arrays.task()}, &ended}, 5, 5), 5U)
      << "too few preemptions";
  EXPECT_EQ(result_of(arrays), expected);
  EXPECT_EQ(ended, 5U);
}

TEST_P(triangles_on_threads, no_item_takes_long_whatever_the_graph) {
  auto const threads = executor_for(1);
  for (csr const& graph : {test::wheel(20'000, true), test::graph_of(300, test::clique(0, 300))}) {
    triangles_arrays<triangles> const arrays{*threads, graph};
    triangles const task = arrays.task();
    EXPECT_GT(task.item_count, graph.edges() / 4 / triangles::max_lookups);
    for (std::uint64_t item = 0; item < task.item_count; ++item) {
      EXPECT_LE(task.items[item].lookups, triangles::max_lookups);
      EXPECT_LE(task.items[item].pairs, triangles::max_pairs);
      EXPECT_LE(task.items[item].list_size, triangles::max_list);
    }
  }
}

TEST_P(triangles_on_threads, counts_wedges_and_edges) {
  auto const threads = executor_for(1);
  triangles_arrays<triangles> const arrays{*threads, test::wheel(100, true, 7)};
  EXPECT_EQ(arrays.edges(), 200U);
  EXPECT_EQ(arrays.wedges(), 100U * 99 / 2 + 100 * 3);
}

TEST_P(triangles_on_threads, memory_that_does_not_suffice_is_refused_with_the_figures) {
  test::expect_refused_for_memory(
      [](executor& on) {
        triangles_arrays<triangles>{on, test::graph_of(100, test::clique(0, 100))};
      },
      "100 vertices and 4950 undirected edges", 20'000);
}

INSTANTIATE_TEST_SUITE_P(teams, triangles_on_threads, test::one_and_four, test::team_of);

}  // namespace
}  // namespace lull
