// SPDX-License-Identifier: Apache-2.0
// The functor on CPU threads, in teams of one and of four: right by a reference and by its verifier, and the same bits
// however it is run.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <lull/graph/betweenness/betweenness_arrays.hpp>
#include <lull/graph/betweenness/verify_betweenness.hpp>
#include <lull/tests/graph/betweenness/brandes.hpp>
#include <lull/tests/graph/betweenness/small_betweenness.hpp>
#include <lull/tests/graph/bfs_graphs.hpp>
#include <lull/tests/graph/edges_graph.hpp>
#include <lull/tests/graph/task_on_threads.hpp>
#include <string>
#include <vector>

namespace lull {
namespace {

using namespace test;
using sources = std::vector<std::uint32_t>;

/// To which stage its phases came.
struct counted_stages : small_betweenness {
  std::atomic<std::uint64_t>* stages;

  void advance(position at, auto const& team) const noexcept {
    if (team.rank() == 0 && on.progress->stage > *stages) *stages = on.progress->stage;
    small_betweenness::advance(at, team);
  }
};

/// A chain of diamonds: each doubles the paths.
csr diamonds(std::uint32_t count) {
  edges made;
  for (std::uint32_t vertex = 0; vertex < 3 * count; vertex += 3) {
    for (std::uint32_t const middle : {vertex + 1, vertex + 2}) {
      made.push_back({vertex, middle});
      made.push_back({middle, vertex + 3});
    }
  }
  return graph_of(3 * count + 1, made);
}

/// Those that reach each kind of phase, small enough for teams whose barriers take long.
std::vector<named_graph> few_graphs() {
  return {
      {"star", from_rows(star(60))}, {"layers", from_rows(layers({1, 3, 20, 40, 5}))}, {"grid", from_rows(grid(5))}};
}

void expect_near(std::vector<double> const& found, std::vector<double> const& expected, std::string const& name) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t vertex = 0; vertex < found.size(); ++vertex) {
    ASSERT_NEAR(found[vertex], expected[vertex], 1e-11 * expected[vertex]) << name << ", vertex " << vertex;
  }
}

class betweenness_on_threads : public test::task_on_threads {
 protected:
  std::vector<named_graph> some_graphs(std::uint32_t times) const {
    if (!solo()) return few_graphs();
    auto made = graphs(times);
    made.push_back({"diamonds", diamonds(40 * times)});
    return made;
  }

  /// All that an uninterrupted run wrote, without worker and protocol.
  template <class Task>
  static all_bytes plainly(executor& threads, csr const& graph, sources const& from, std::uint32_t grain = 1) {
    betweenness_arrays<Task> const arrays{threads, graph, from};
    run_task(threads, arrays.task(), grain);
    return bytes_of(threads, arrays.written());
  }

  template <class Task>
  std::vector<double> totals(csr const& graph, sources const& from) const {
    auto const threads = executor_for();
    betweenness_arrays<Task> const arrays{*threads, graph, from};
    run_task(*threads, arrays.task());
    EXPECT_EQ(arrays.progress().phase, betweenness_phase::end);
    EXPECT_EQ(arrays.progress().source, from.size());
    return arrays.totals();
  }

  template <class Task>
  void expect_right(named_graph const& one, sources const& from) const {
    auto const found = totals<Task>(one.graph, from);
    expect_near(found, brandes(one.graph, from), one.name);
    auto const verdict = verify_betweenness(one.graph, from, found);
    EXPECT_TRUE(verdict.ok) << one.name << ": " << verdict.message;
  }
};

TEST_P(betweenness_on_threads, is_right) {
  for (auto const& one : some_graphs(3)) {
    auto const last = one.graph.vertices() - 1;
    for (std::uint32_t const source : {0U, last / 2, last}) {
      expect_right<small_betweenness>(one, {source});
      if (solo()) expect_right<betweenness>(one, {source});
    }
  }
}

TEST_P(betweenness_on_threads, adds_up_its_sources) {
  for (auto const& one : some_graphs(1)) {
    auto const last = one.graph.vertices() - 1;
    expect_right<small_betweenness>(one, {last, 0, last / 3, 0});
  }
}

TEST_P(betweenness_on_threads, of_all_vertices_is_the_definitions) {
  EXPECT_EQ(totals<small_betweenness>(from_rows(path(5)), {0, 1, 2, 3, 4}), (std::vector<double>{0, 3, 4, 3, 0}));
  // Of two paths around a square each takes half; the edge that is there twice makes two paths of one.
  csr const square = from_rows({{1, 2}, {3}, {3}, {}});
  EXPECT_EQ(totals<small_betweenness>(square, {0, 1, 2, 3}), (std::vector<double>{0, 0.5, 0.5, 0}));
  csr const twice = from_rows({{1, 2, 2}, {3}, {3}, {}});
  EXPECT_EQ(totals<small_betweenness>(twice, {0}), (std::vector<double>{0, 1.0 / 3, 2.0 / 3, 0}));
}

TEST_P(betweenness_on_threads, does_all_kinds_of_phases_and_stages) {
  auto const threads = executor_for(1);
  csr const graph = from_rows(star(600));
  betweenness_arrays<small_betweenness> const arrays{*threads, graph, sources{5}};
  phase_counts<betweenness_phase> counts;
  std::atomic<std::uint64_t> stages{0};
  run_counted(*threads, counted_stages{arrays.task(), &stages}, counts);
  counts.expect_all();
  EXPECT_EQ(stages, 4U);  // 600 edges, 150 sums, 37, 9, 2: one part
  expect_near(arrays.totals(), brandes(graph, sources{5}), "star");
}

/// More than a double could count.
TEST_P(betweenness_on_threads, counts_paths_beyond_a_double) {
  std::uint32_t const count = solo() ? 1500 : 1100;
  csr const graph = diamonds(count);
  auto const found = totals<small_betweenness>(graph, {0});
  for (std::uint32_t at = 1; at < count; ++at) {  // each splits what is behind it
    ASSERT_EQ(found[3UL * at], 3 * (count - at)) << at;
    ASSERT_EQ(found[3UL * at + 1], (1 + 3 * (count - at - 1)) / 2.0) << at;
  }
  EXPECT_TRUE(verify_betweenness(graph, sources{0}, found).ok);
}

TEST_P(betweenness_on_threads, spreads_a_hub_over_many_items) {
  csr const graph = from_rows(star(solo() ? 3000 : 200));
  std::uint64_t const leaves = graph.edges() / 2;
  auto const hub = static_cast<std::uint32_t>(leaves / 2);
  auto const threads = executor_for(1);
  betweenness_arrays<small_betweenness> const arrays{*threads, graph, sources{hub}};
  small_betweenness const task = arrays.task();
  betweenness_progress now{};
  std::vector<std::uint64_t> begins(graph.vertices() + 1UL);
  now.begin_at_source(queue_mark::of(1, leaves), begins.data(), task.on.graph);
  threads->write(task.on.progress, &now, sizeof now);
  EXPECT_EQ(task.extent({}, 0), (leaves + 15) / 16);
}

TEST_P(betweenness_on_threads, is_right_in_pieces_of_any_size) {
  named_graph const one{"kronecker", generate_kronecker({.scale = solo() ? 9U : 4U})};
  expect_right<basic_betweenness<8, 2, 32>>(one, {1});
  expect_right<basic_betweenness<64, 4, 64>>(one, {1});
  expect_right<basic_betweenness<4, 3, 32>>(one, {1});  // parts longer than a piece
}

/// Nor does the size of a piece, or of the team.
TEST_P(betweenness_on_threads, grain_blocks_and_teams_change_no_bit) {
  for (auto const& one : some_graphs(2)) {
    sources const from{one.graph.vertices() / 2, 0};
    auto const expected = plainly<small_betweenness>(*executor_for(), one.graph, from);
    for (std::uint32_t const grain : {2U, 1000U}) {
      EXPECT_EQ(plainly<small_betweenness>(*executor_for(3), one.graph, from, grain), expected) << one.name;
    }
    EXPECT_EQ(plainly<small_betweenness>(*executor_for(1), one.graph, from, 7), expected) << one.name;
    using larger = basic_betweenness<64, 2, 64>;
    EXPECT_EQ(plainly<larger>(*executor_for(), one.graph, from).front(), expected.front()) << one.name;
  }
}

TEST_P(betweenness_on_threads, teams_of_any_size_give_the_same_bits) {
  auto const of_three = make_executor({.kind = executor_kind::threads, .processors = 1, .team_width = 3});
  for (auto const& one : few_graphs()) {
    EXPECT_EQ(plainly<small_betweenness>(*executor_for(), one.graph, {1, 0}),
              plainly<small_betweenness>(*of_three, one.graph, {1, 0}))
        << one.name;
  }
}

TEST_P(betweenness_on_threads, preemption_changes_no_bit) {
  std::vector<named_graph> const some{{"kronecker", generate_kronecker({.scale = solo() ? 7U : 4U})},
                                      {"grid", from_rows(grid(solo() ? 12 : 5))}};
  for (auto const& one : some) {
    sources const from{0, 2, 1};
    auto const expected = plainly<small_betweenness>(*executor_for(), one.graph, from);
    runtime side{in_bubbles()};
    betweenness_arrays<small_betweenness> arrays{executor_of(side), one.graph, from};
    expect_same_when_preempted(
        side, arrays, [&] { EXPECT_EQ(bytes_of(executor_of(side), arrays.written()), expected); }, one.name);
  }
}

TEST_P(betweenness_on_threads, needs_nothing_of_what_its_arrays_held) {
  for (auto const& one : some_graphs(1)) {
    sources const from{one.graph.vertices() / 2, 0};
    auto const threads = executor_for(1);
    betweenness_arrays<small_betweenness> const arrays{*threads, one.graph, from};
    test::poison(*threads, arrays.written());
    run_task(*threads, arrays.task());
    expect_near(arrays.totals(), brandes(one.graph, from), one.name);
  }
}

/// The queues, whose order does.
TEST_P(betweenness_on_threads, leaves_nothing_that_depends_on_timing) {
  auto const threads = executor_for();
  betweenness_arrays<small_betweenness> const arrays{*threads, generate_kronecker({.scale = 5}), sources{1, 2}};
  run_task(*threads, arrays.task());
  auto const bytes = bytes_of(*threads, arrays.written());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string const name{arrays.written()[i].array.name};
    if (!name.ends_with("_vertices") && !name.ends_with("_edges")) continue;
    EXPECT_EQ(std::count(bytes[i].begin(), bytes[i].end(), 0), static_cast<std::ptrdiff_t>(bytes[i].size())) << name;
  }
}

TEST(betweenness_arrays, refuse_memory_that_does_not_suffice_with_the_figures) {
  expect_refused_for_memory(
      [](executor& on) {
        betweenness_arrays<betweenness>{on, generate_kronecker({.scale = 10}), sources{3, 4}};
      },
      "1024 vertices and 32768 edges from 2 sources");
}

INSTANTIATE_TEST_SUITE_P(teams, betweenness_on_threads, test::one_and_four, test::team_of);

}  // namespace
}  // namespace lull
