// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <lull/graph/bfs/bfs.hpp>
#include <lull/graph/bfs/bfs_arrays.hpp>
#include <lull/graph/bfs/bfs_together.hpp>
#include <lull/graph/bfs/bfs_together_arrays.hpp>
#include <lull/graph/csr/csr.hpp>
#include <lull/graph/load/edge_weights.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/graph/search_total.hpp>
#include <lull/graph/sssp/sssp.hpp>
#include <lull/graph/sssp/sssp_arrays.hpp>
#include <lull/host/array.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/tests/support/threads_job.hpp>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace lull {
namespace {

class search_totals : public testing::Test {
 protected:
  std::unique_ptr<executor> executor_ = make_executor({.kind = executor_kind::threads, .solo = true});
  csr const graph_ = generate_kronecker({.scale = 8});
  std::vector<std::uint32_t> const from_{1, 5, 9};

  /// Runs the searches, and then takes back how many are done; `take_back` changes the progress.
  template <class Arrays>
  void expect_total_of_the_done(Arrays const& arrays, auto const& take_back, search_total const& expected) {
    ASSERT_TRUE(run_to_end(test::threads_job(arrays.task()), *executor_).finished);
    EXPECT_GT(arrays.total(graph_).reached, expected.reached);
    std::vector<task_array> const written = arrays.written();
    auto const array =
        std::find_if(written.begin(), written.end(), [](auto const& one) { return one.array.name == "progress"; });
    ASSERT_NE(array, written.end());
    auto progress = arrays.progress();
    take_back(progress);
    executor_->write(array->memory, &progress, sizeof progress);
    expect_same(arrays.total(graph_), expected);
  }

  static void expect_same(search_total const& found, search_total const& expected) {
    EXPECT_EQ(found.reached, expected.reached);
    EXPECT_EQ(found.edges, expected.edges);
    EXPECT_EQ(found.farthest, expected.farthest);
  }

  /// Of the first searches, by breadth.
  search_total by_breadth(std::uint64_t count) {
    bfs_arrays<bfs> const arrays{*executor_, graph_, from_};
    run_to_end(test::threads_job(arrays.task()), *executor_);
    search_total sum;
    for (std::uint64_t search = 0; search < count; ++search) {
      std::vector<bfs_found> const found = arrays.found(search);
      for (std::size_t v = 0; v < found.size(); ++v) {
        if (found[v].depth != bfs_found::none) sum.add({1, graph_.offsets[v + 1] - graph_.offsets[v], found[v].depth});
      }
    }
    return sum;
  }
};

TEST_F(search_totals, are_of_the_searches_that_are_done) {
  bfs_arrays<bfs> const arrays{*executor_, graph_, from_};
  expect_total_of_the_done(
      arrays, [](bfs_progress& now) { now.search = 1; }, by_breadth(1));
}

TEST_F(search_totals, are_of_the_groups_that_are_done) {
  bfs_together_arrays<bfs_together> const arrays{*executor_, graph_, from_, 2};
  expect_total_of_the_done(
      arrays, [](bfs_together_progress& now) { now.group = 1; }, by_breadth(2));
}

TEST_F(search_totals, are_of_the_shortest_paths_that_are_done) {
  host_array<float> weights(graph_.edges(), 1.0F);  // so that a path is as long as it has edges
  sssp_arrays<sssp> const arrays{*executor_, graph_, std::move(weights), weight_kind::whole, from_, 4.0};
  expect_total_of_the_done(
      arrays, [](sssp_progress& now) { now.search = 2; }, by_breadth(2));
}

/// Two words for each vertex, of which one in three is not reached, over more than a strip.
TEST_F(search_totals, add_up_what_searches_reached) {
  std::uint64_t const vertices = detail::strip_words / 2 + 1000;
  csr graph;
  graph.offsets.resize(vertices + 1);
  for (std::uint64_t v = 0; v < vertices; ++v) graph.offsets[v + 1] = graph.offsets[v] + v % 5;
  std::vector<std::uint32_t> words(2 * vertices);
  search_total expected;
  for (std::uint64_t at = 0; at < words.size(); ++at) {
    words[at] = at % 3 == 0 ? ~0U : static_cast<std::uint32_t>((at * 7919) % 100'003);
    if (words[at] != ~0U) expected.add({1, at / 2 % 5, 3 * words[at]});
  }
  device_array<std::uint32_t> const array{*executor_, std::span<std::uint32_t const>{words}};
  search_total const found =
      detail::total_of_words(*executor_, array.data(), 2, graph, [](std::uint32_t word) { return 3 * word; });
  expect_same(found, expected);
  EXPECT_GT(found.reached, vertices);
}

}  // namespace
}  // namespace lull
