// SPDX-License-Identifier: Apache-2.0
// The functor on CPU threads, in teams of one and of four: right by its verifier, and the same bits however it is run.
#include <gtest/gtest.h>

#include <lull/graph/bfs/bfs_arrays.hpp>
#include <lull/graph/bfs/verify_bfs.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/tests/graph/bfs/small_bfs.hpp>
#include <lull/tests/graph/bfs_graphs.hpp>
#include <lull/tests/graph/row_lengths.hpp>
#include <lull/tests/graph/task_on_threads.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lull {
namespace {

using test::bytes_of;
using test::from_rows;
using test::graphs;
using test::layers;
using test::named_graph;
using test::path;
using test::star;
using sources = std::vector<std::uint32_t>;

class bfs_on_threads : public test::task_on_threads {
 protected:
  /// All that an uninterrupted run wrote, without worker and protocol.
  template <class Task>
  test::all_bytes plainly(csr const& graph, sources const& from, std::uint32_t grain = 1, int processors = 2) const {
    auto const threads = executor_for(processors);
    bfs_arrays<Task> const arrays{*threads, graph, from};
    test::run_task(*threads, arrays.task(), grain);
    return bytes_of(*threads, arrays.written());
  }

  template <class Task>
  void expect_right(named_graph const& one, sources const& from) const {
    auto const threads = executor_for();
    bfs_arrays<Task> const arrays{*threads, one.graph, from};
    test::run_task(*threads, arrays.task());
    for (std::size_t search = 0; search < from.size(); ++search) {
      auto const verdict = verify_bfs(one.graph, from[search], arrays.found(search));
      EXPECT_TRUE(verdict.ok) << one.name << ", piece " << Task::piece << ", from " << from[search] << ": "
                              << verdict.message;
    }
    bfs_progress const end = arrays.progress();
    EXPECT_EQ(end.phase, bfs_phase::end) << one.name;
    EXPECT_EQ(end.search, from.size()) << one.name;
  }

  /// How many phases of each kind there were.
  void count(csr const& graph, sources const& from, test::phase_counts<bfs_phase>& counts) const {
    auto const threads = executor_for(1);
    bfs_arrays<small_bfs> const arrays{*threads, graph, from};
    test::run_counted(*threads, arrays.task(), counts);
    for (std::size_t search = 0; search < from.size(); ++search) {
      EXPECT_TRUE(verify_bfs(graph, from[search], arrays.found(search)).ok);
    }
  }
};

TEST_P(bfs_on_threads, is_right) {
  for (auto const& one : graphs(solo() ? 10 : 1)) {
    auto const last = one.graph.vertices() - 1;
    for (std::uint32_t const source : {0U, last / 2, last}) {
      expect_right<small_bfs>(one, {source});
      expect_right<bfs>(one, {source});
    }
  }
}

TEST_P(bfs_on_threads, searches_from_one_source_after_the_other) {
  for (auto const& one : graphs(1)) {
    auto const last = one.graph.vertices() - 1;
    expect_right<small_bfs>(one, {last, 0, last / 3, 0});
  }
}

TEST_P(bfs_on_threads, does_all_kinds_of_phases) {
  csr const graph = from_rows(layers({1, 3, 40, 200, 300, 5, 90, 1, 70}));
  test::phase_counts<bfs_phase> counts;
  count(graph, {0, 1}, counts);
  counts.expect_all();
}

TEST_P(bfs_on_threads, goes_through_small_levels_a_few_at_a_time) {
  test::phase_counts<bfs_phase> counts;
  count(from_rows(path(301)), {0}, counts);
  EXPECT_EQ(counts.of(bfs_phase::small), 300U / small_bfs::small_levels);
  EXPECT_EQ(counts.of(bfs_phase::push) + counts.of(bfs_phase::pull), 0U);
}

TEST_P(bfs_on_threads, spreads_a_hub_over_many_items) {
  csr const graph = from_rows(star(solo() ? 6000 : 500));
  auto const vertices = graph.vertices();
  for (std::uint32_t const source : {0U, vertices / 2, vertices - 1})
    expect_right<small_bfs>({"star", graph}, {source});
  // Without pulling, all of its edges are pushed, which takes an item for each 16.
  auto const threads = executor_for(1);
  bfs_arrays<small_bfs> const arrays{*threads, graph, sources{vertices / 2}};
  small_bfs const task = arrays.task();
  bfs_progress now{};
  now.phase = bfs_phase::push;
  now.range = {{}, queue_mark::of(1, graph.edges() / 2)};
  threads->write(task.on.progress, &now, sizeof now);
  EXPECT_EQ(task.extent({}, 0), (graph.edges() / 2 + 15) / 16);
}

/// Rows about the borders of pieces and probes, entered and left.
TEST_P(bfs_on_threads, is_right_whatever_the_degrees) {
  std::vector<std::uint32_t> const degrees{0, 1, 2, 3, 4, 15, 16, 17, 31, 32, 33, 48, 64, 100};
  for (std::uint32_t turn = 0; turn < (solo() ? 20U : 3U); ++turn) {
    std::vector<std::uint32_t> entering;
    for (std::uint32_t vertex = 0; vertex < 40 + turn * 13; ++vertex) {
      entering.push_back(degrees[(vertex * (turn + 3) + turn) % (turn % 2 == 0 ? degrees.size() : 5)]);
    }
    csr const in = test::graph_entered_by(entering);
    expect_right<small_bfs>({"entered, turn " + std::to_string(turn), in}, {0, 7});
    expect_right<small_bfs>({"left, turn " + std::to_string(turn), transpose(in)}, {0, 7});
  }
}

TEST_P(bfs_on_threads, is_right_in_pieces_of_any_size) {
  csr const graph = generate_kronecker({.scale = solo() ? 9U : 6U});
  expect_right<basic_bfs<4, 1, 32>>({"4", graph}, {1});
  expect_right<basic_bfs<64, 3, 64>>({"64", graph}, {1});
  expect_right<basic_bfs<256, 4, 128>>({"256", graph}, {1});
}

TEST_P(bfs_on_threads, grain_and_blocks_change_no_bit) {
  for (auto const& [name, graph] : graphs(solo() ? 10 : 1)) {
    sources const from{graph.vertices() / 2, 0};
    auto const expected = plainly<small_bfs>(graph, from);
    for (std::uint32_t const grain : {2U, 7U, 1000U}) {
      EXPECT_EQ(plainly<small_bfs>(graph, from, grain, 3), expected) << name << ", grain " << grain;
    }
    EXPECT_EQ(plainly<small_bfs>(graph, from, 1, 1), expected) << name;
  }
}

TEST_P(bfs_on_threads, preemption_changes_no_bit) {
  std::vector<named_graph> const some{{"kronecker", generate_kronecker({.scale = solo() ? 8U : 5U})},
                                      {"layers", from_rows(layers({1, 3, 40, 200, 300, 5, 90, 1, 70}))}};
  for (auto const& [name, graph] : some) {
    sources const from{0, 2, 1};
    auto const expected = plainly<small_bfs>(graph, from);
    runtime side{in_bubbles()};
    bfs_arrays<small_bfs> arrays{executor_of(side), graph, from};
    expect_same_when_preempted(
        side, arrays, [&] { EXPECT_EQ(bytes_of(executor_of(side), arrays.written()), expected); }, name);
  }
}

TEST_P(bfs_on_threads, needs_nothing_of_what_its_arrays_held) {
  for (auto const& one : graphs(1)) {
    sources const from{one.graph.vertices() / 2, 0};
    auto const threads = executor_for(1);
    bfs_arrays<small_bfs> const arrays{*threads, one.graph, from};
    test::poison(*threads, arrays.written());
    test::run_task(*threads, arrays.task());
    for (std::size_t search = 0; search < from.size(); ++search) {
      auto const verdict = verify_bfs(one.graph, from[search], arrays.found(search));
      EXPECT_TRUE(verdict.ok) << one.name << ": " << verdict.message;
    }
  }
}

TEST_P(bfs_on_threads, memory_that_does_not_suffice_is_refused_with_the_figures) {
  test::expect_refused_for_memory(
      [](executor& on) {
        bfs_arrays<bfs>{on, generate_kronecker({.scale = 10}), sources{3, 4}};
      },
      "1024 vertices and 32768 edges from 2 sources");
}

INSTANTIATE_TEST_SUITE_P(teams, bfs_on_threads, test::one_and_four, test::team_of);

}  // namespace
}  // namespace lull
