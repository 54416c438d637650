// SPDX-License-Identifier: Apache-2.0
// The functor on CPU threads, in teams of one and of four: right by other algorithms, and the same bits however it is
// run.
#include <gtest/gtest.h>

#include <lull/graph/kcore/kcore_arrays.hpp>
#include <lull/graph/kcore/verify_kcore.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/tests/graph/kcore/core_numbers.hpp>
#include <lull/tests/graph/kcore/small_kcore.hpp>
#include <lull/tests/graph/task_on_threads.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace lull {
namespace {

using namespace test;

struct named_graph {
  std::string name;
  csr graph;
};

edges drawn(std::uint32_t vertices, std::uint32_t count, std::uint32_t seed) {
  std::mt19937 random{seed};
  edges made;
  for (std::uint32_t i = 0; i < count; ++i) {
    auto const source = static_cast<std::uint32_t>(random() % vertices);
    made.push_back({source, static_cast<std::uint32_t>(random() % vertices)});
  }
  return made;
}

/// Larger ones are `times` as large.
std::vector<named_graph> graphs(std::uint32_t times) {
  edges loops;
  for (std::uint32_t vertex = 0; vertex < 100; ++vertex) {
    for (std::uint32_t i = 0; i < vertex % 7; ++i) loops.push_back({vertex, vertex - vertex % 3});
  }
  edges cycle = path_of(150 * times);
  cycle.push_back({150 * times - 1, 0});
  return {{"one vertex", graph_of(1, {})},
          {"one loop", graph_of(1, {{0, 0}})},
          {"no edges", graph_of(300, {})},
          {"one edge", graph_of(2, {{1, 0}})},
          {"self-loops and duplicates", graph_of(100, loops)},
          {"path", graph_of(100 * times, shuffled(path_of(100 * times), 100 * times))},
          {"cycle", graph_of(150 * times, cycle)},
          {"star", graph_of(200 * times, star_of(200 * times, 70))},
          {"into a hub", graph_of(200 * times, turned(star_of(200 * times, 0)), mirror::all)},
          {"two parts", graph_of(150, beside(path_of(50), cliques_of(10, 10), 50))},
          {"grid", graph_of(25 * times * times, grid_of(5 * times), mirror::off_diagonal)},
          {"clique", graph_of(40, cliques_of(1, 40))},
          {"many cores", many_cores(100 * times)},
          {"drawn", graph_of(100 * times, drawn(100 * times, 400 * times, 3))},
          {"kronecker", generate_kronecker({.scale = times > 1 ? 9U : 6U})},
          {"uniform", generate_uniform({.scale = times > 1 ? 8U : 5U})}};
}

class kcore_on_threads : public test::task_on_threads {
 protected:
  /// All that an uninterrupted run wrote, without worker and protocol.
  template <class Task>
  all_bytes plainly(csr const& graph, std::uint32_t grain = 1, int processors = 2) const {
    auto const threads = executor_for(processors);
    kcore_arrays<Task> const arrays{*threads, graph};
    run_task(*threads, arrays.task(), grain);
    return bytes_of(*threads, arrays.written());
  }

  template <class Task>
  void expect_right(named_graph const& one) const {
    auto const threads = executor_for();
    kcore_arrays<Task> const arrays{*threads, one.graph};
    run_task(*threads, arrays.task());
    expect_result(one, arrays);
  }

  template <class Task>
  static void expect_result(named_graph const& one, kcore_arrays<Task> const& arrays) {
    std::vector<std::uint32_t> const found = arrays.cores();
    std::vector<std::uint32_t> const right = core_numbers(one.graph);
    EXPECT_EQ(found, right) << one.name << ", piece " << Task::piece;
    auto const verdict = verify_kcore(one.graph, found, 1);
    EXPECT_TRUE(verdict.ok) << one.name << ": " << verdict.message;
    kcore_progress const end = arrays.progress();
    EXPECT_EQ(end.phase, kcore_phase::end) << one.name;
    EXPECT_EQ(end.level, *std::max_element(right.begin(), right.end())) << one.name;
    std::set<std::uint32_t> occurring(right.begin(), right.end());
    occurring.erase(0);
    EXPECT_EQ(end.levels, occurring.size()) << one.name;
    EXPECT_EQ(end.isolated, static_cast<std::uint64_t>(std::count(right.begin(), right.end(), 0U))) << one.name;
  }

  /// How many phases of each kind there were.
  void count(csr const& graph, phase_counts<kcore_phase>& counts) const {
    auto const threads = executor_for(1);
    kcore_arrays<small_kcore> const arrays{*threads, graph};
    run_counted(*threads, arrays.task(), counts);
    expect_result({"counted", graph}, arrays);
  }
};

TEST_P(kcore_on_threads, is_right) {
  for (auto const& one : graphs(solo() ? 6 : 1)) {
    expect_right<small_kcore>(one);
    expect_right<kcore>(one);
  }
}

TEST_P(kcore_on_threads, is_right_on_graphs_of_random_edges) {
  for (std::uint32_t turn = 0; turn < (solo() ? 40U : 6U); ++turn) {
    std::uint32_t const vertices = 20 + turn * 17;
    expect_right<small_kcore>(
        {"turn " + std::to_string(turn), graph_of(vertices, drawn(vertices, vertices * (1 + turn % 9), turn))});
  }
}

TEST_P(kcore_on_threads, is_right_in_pieces_of_any_size) {
  csr const graph = generate_kronecker({.scale = solo() ? 8U : 6U});
  expect_right<basic_kcore<4, 32>>({"4", graph});
  expect_right<basic_kcore<64, 64>>({"64", graph});
  expect_right<basic_kcore<256, 128>>({"256", graph});
}

TEST_P(kcore_on_threads, does_all_kinds_of_phases) {
  phase_counts<kcore_phase> counts;
  count(many_cores(200), counts);
  counts.expect_all();
}

/// A path goes from both ends, two vertices a wave. Its list is too long for one item.
TEST_P(kcore_on_threads, goes_through_small_waves_a_few_at_a_time) {
  phase_counts<kcore_phase> counts;
  count(graph_of(301, path_of(301)), counts);
  EXPECT_EQ(counts.of(kcore_phase::scan), 1U);
  EXPECT_EQ(counts.of(kcore_phase::peel), 0U);
  // The last vertex, in the middle, is taken from none.
  EXPECT_EQ(counts.of(kcore_phase::small), 150U / small_kcore::small_steps);
}

/// Levels without vertices are not looked through one by one: a scan that finds none tells the next.
TEST_P(kcore_on_threads, skips_empty_levels) {
  phase_counts<kcore_phase> counts;
  count(graph_of(360, beside(beside(cliques_of(60, 3), cliques_of(2, 70), 180), {}, 0)), counts);
  EXPECT_EQ(counts.of(kcore_phase::scan) + counts.of(kcore_phase::small), 4U);  // levels 1, 2, 3 and 69
}

/// What is left is listed when half was taken out, so a later level does not look at all vertices.
TEST_P(kcore_on_threads, scans_what_is_left) {
  edges made;
  std::uint32_t vertices = 0;
  for (auto const& [count, size] :
       {std::pair{600U, 2U}, {400U, 3U}, {150U, 4U}, {100U, 5U}, {40U, 6U}, {1U, 7U}, {1U, 9U}}) {
    made = beside(std::move(made), cliques_of(count, size), vertices);
    vertices += count * size;
  }
  csr const graph = graph_of(vertices + 4000, shuffled(std::move(made), vertices));
  auto const threads = executor_for(1);
  kcore_arrays<small_kcore> const arrays{*threads, graph};
  run_task(*threads, arrays.task());
  expect_result({"cliques", graph}, arrays);
  kcore_progress const end = arrays.progress();
  EXPECT_EQ(end.list, 1U);  // of levels 1, 4 and 6 the last
  EXPECT_EQ(end.length, 9U);
}

TEST_P(kcore_on_threads, spreads_a_hub_over_many_items) {
  csr const graph = graph_of(4000, star_of(4000, 70));
  auto const threads = executor_for(1);
  kcore_arrays<small_kcore> const arrays{*threads, graph};
  small_kcore const task = arrays.task();
  kcore_progress now{};
  now.phase = kcore_phase::peel;
  now.range = {{}, queue_mark::of(1, 3999)};
  threads->write(task.on.progress, &now, sizeof now);
  EXPECT_EQ(task.extent({}, 0), 250U);
}

TEST_P(kcore_on_threads, grain_and_blocks_change_no_bit) {
  for (auto const& [name, graph] : graphs(solo() ? 6 : 1)) {
    auto const expected = plainly<small_kcore>(graph);
    for (std::uint32_t const grain : {2U, 7U, 1000U}) {
      EXPECT_EQ(plainly<small_kcore>(graph, grain, 3), expected) << name << ", grain " << grain;
    }
    EXPECT_EQ(plainly<small_kcore>(graph, 1, 1), expected) << name;
  }
}

TEST_P(kcore_on_threads, preemption_changes_no_bit) {
  std::vector<named_graph> const some{{"kronecker", generate_kronecker({.scale = solo() ? 7U : 5U})},
                                      {"many cores", many_cores(solo() ? 400 : 150)}};
  for (auto const& [name, graph] : some) {
    auto const expected = plainly<small_kcore>(graph);
    runtime side{in_bubbles()};
    kcore_arrays<small_kcore> arrays{executor_of(side), graph};
    expect_same_when_preempted(
        side, arrays, [&] { EXPECT_EQ(bytes_of(executor_of(side), arrays.written()), expected); }, name, 6, 3);
  }
}

TEST_P(kcore_on_threads, needs_nothing_of_what_its_arrays_held) {
  for (auto const& one : graphs(1)) {
    auto const threads = executor_for(1);
    kcore_arrays<small_kcore> const arrays{*threads, one.graph};
    test::poison(*threads, arrays.written());
    run_task(*threads, arrays.task());
    expect_result(one, arrays);
    for (auto const& array : arrays.written()) {
      if (array.array.name == "progress" || array.array.name == "core") continue;
      std::vector<unsigned char> held(array.array.bytes());
      threads->read(held.data(), array.memory, held.size());
      EXPECT_EQ(held, std::vector<unsigned char>(held.size(), 0)) << one.name << ": " << array.array.name;
    }
  }
}

TEST_P(kcore_on_threads, memory_that_does_not_suffice_is_refused_with_the_figures) {
  expect_refused_for_memory(
      [](executor& on) {
        kcore_arrays<kcore>{on, graph_of(1024, path_of(1024))};
      },
      "1024 vertices and 1023 undirected edges", 20'000);
}

INSTANTIATE_TEST_SUITE_P(teams, kcore_on_threads, test::one_and_four, test::team_of);

}  // namespace
}  // namespace lull
