// SPDX-License-Identifier: Apache-2.0
// The functor on CPU threads, in teams of one and of four: right by another algorithm, and the same bits however it is
// run.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <lull/graph/components/components_arrays.hpp>
#include <lull/graph/components/verify_components.hpp>
#include <lull/graph/csr/symmetric.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/tests/graph/edges_graph.hpp>
#include <lull/tests/graph/task_on_threads.hpp>

namespace lull {
namespace {

using namespace test;

/// So small that rows span tiles, and graphs that a person can see through span groups.
using small_components = basic_components<64, 16, 32>;
static_assert(side_task<small_components>);

/// Counts its phases.
template <class Task>
struct counted : Task {
  std::atomic<std::uint64_t>* phases;

  void advance(position ended, auto const& team) const noexcept {
    if (team.rank() == 0) ++*phases;
    Task::advance(ended, team);
  }
};
static_assert(side_task<counted<small_components>> && has_advance<counted<small_components>>);

struct named_graph {
  std::string name;
  csr graph;
};

/// Each with its edges once, and with them in both directions.
std::vector<named_graph> graphs(std::uint32_t times) {
  edges loops;
  for (std::uint32_t vertex = 0; vertex < 100; ++vertex) {
    for (std::uint32_t i = 0; i < vertex % 7; ++i) loops.push_back({vertex, vertex - vertex % 3});
  }
  struct drawn {
    std::string name;
    std::uint32_t vertices;
    edges given;
  };
  std::uint32_t const size = 200 * times;
  std::vector<drawn> const all{
      {"one vertex", 1, {}},
      {"a vertex with itself", 1, {{0, 0}, {0, 0}}},
      {"isolated vertices", 300 * times, {}},
      {"two at the ends", size, {{size - 1, 0}}},
      {"self-loops and duplicates", 101, loops},
      {"path", size, path_of(size)},
      {"path to lower ids", size, turned(path_of(size))},
      {"path, shuffled", size, shuffled(path_of(size), size)},
      {"star, low", size, star_of(size, 0)},
      {"star, high", size, star_of(size, size - 1)},
      {"star into its middle", size + 40, turned(star_of(size, size / 2))},
      {"two stars and isolated vertices", 3 * size, beside(star_of(size, 7), star_of(size, 3), size + 9)},
      {"grid", 20 * 20, grid_of(20)},
      {"grid, shuffled", 20 * 20, shuffled(grid_of(20), 20 * 20)},
      {"cliques", 15 * 12, cliques_of(15, 12)},
      {"cliques and a path", 15 * 12 + size, beside(cliques_of(15, 12), path_of(size), 15 * 12)},
      {"a short path and a long one", size, beside(path_of(size / 4), path_of(size - size / 4), size / 4)}};
  std::vector<named_graph> made{{"kronecker", generate_kronecker({.scale = times > 1 ? 10U : 6U})},
                                {"sparse uniform", generate_uniform({.scale = 9, .edge_factor = 1})}};
  for (auto const& [name, vertices, given] : all) {
    made.push_back({name, graph_of(vertices, given)});
    made.push_back({name + ", both ways", graph_of(vertices, given, mirror::all)});
  }
  return made;
}

edge_directions directions_of(csr const& graph) {
  return is_symmetric(graph, 1) ? edge_directions::both : edge_directions::one;
}

class components_on_threads : public test::task_on_threads {
 protected:
  struct result {
    std::vector<std::uint32_t> labels;
    components_progress progress;
    std::uint64_t phases;
  };

  /// An uninterrupted run, without worker and protocol.
  template <class Task>
  result plainly(csr const& graph, edge_directions directions, std::uint32_t grain = 1, int processors = 2) const {
    auto const threads = executor_for(processors);
    components_arrays<Task> const arrays{*threads, graph, directions};
    std::atomic<std::uint64_t> phases{0};
    counted<Task> const task{arrays.task(), &phases};
    run_task(*threads, task, grain);
    return {arrays.labels(), arrays.progress(), phases};
  }

  static void expect_right(std::string const& name, csr const& graph, std::vector<std::uint32_t> const& labels) {
    std::uint64_t components = 0;
    for (std::uint32_t vertex = 0; vertex < labels.size(); ++vertex) components += labels[vertex] == vertex ? 1 : 0;
    auto const verdict = verify_components(graph, labels, components);
    EXPECT_TRUE(verdict.ok) << name << ": " << verdict.message;
  }

  template <class Task>
  void expect_right(named_graph const& one) const {
    for (edge_directions const said : {edge_directions::one, directions_of(one.graph)}) {
      result const found = plainly<Task>(one.graph, said);
      expect_right(one.name, one.graph, found.labels);
      EXPECT_EQ(found.progress.pass, components_pass::over) << one.name;
      EXPECT_EQ(found.progress.flattening + found.progress.deep + found.progress.open + found.progress.giant, 0U);
    }
  }
};

TEST_P(components_on_threads, equals_the_verifier) {
  for (auto const& one : graphs(solo() ? 20 : 5)) expect_right<components>(one);
  for (auto const& one : graphs(solo() ? 20 : 1)) expect_right<small_components>(one);
}

TEST_P(components_on_threads, is_right_whatever_the_graph) {
  std::mt19937 random{7};
  for (int turn = 0; turn < (solo() ? 300 : 20); ++turn) {
    std::uint32_t const vertices = 1 + random() % 400;
    edges some(random() % (turn % 3 == 0 ? 2000 : vertices + 1));
    for (edge& one : some) {
      one = {static_cast<std::uint32_t>(random() % vertices), static_cast<std::uint32_t>(random() % vertices)};
      if (turn % 4 == 0) one.target = std::min(one.source + 1 + one.target % 3, vertices - 1);  // long components
    }
    named_graph const one{"turn " + std::to_string(turn),
                          graph_of(vertices, some, turn % 2 == 0 ? mirror::all : mirror::none)};
    expect_right<small_components>(one);
  }
}

TEST_P(components_on_threads, long_graphs_take_few_phases) {
  std::uint32_t const size = solo() ? 300'000 : 3000;
  std::uint32_t const side = solo() ? 400 : 50;
  std::vector<named_graph> const some{{"path", graph_of(size, path_of(size), mirror::all)},
                                      {"path, shuffled", graph_of(size, shuffled(path_of(size), size), mirror::all)},
                                      {"path one way", graph_of(size, turned(path_of(size)))},
                                      {"grid", graph_of(side * side, grid_of(side), mirror::all)},
                                      {"grid one way", graph_of(side * side, grid_of(side))}};
  for (auto const& [name, graph] : some) {
    result const found = plainly<components>(
        graph, name.ends_with("one way") ? edge_directions::one : edge_directions::both, solo() ? 16 : 1);
    EXPECT_LT(found.phases, 40U) << name;
    EXPECT_EQ(std::count(found.labels.begin(), found.labels.end(), 0U), graph.vertices()) << name;
  }
}

/// Of a graph that holds both directions, the edges of its largest component are not read after the first passes.
TEST_P(components_on_threads, an_edge_that_need_not_be_read_is_not) {
  std::uint32_t const size = solo() ? 4000 : 500;
  csr graph = graph_of(size, star_of(size, 0), mirror::all);
  for (std::uint64_t edge = 8; edge < graph.offsets[1]; ++edge) graph.targets[edge] = size - 1;  // as if it were so
  EXPECT_EQ(plainly<small_components>(graph, edge_directions::both).labels, std::vector<std::uint32_t>(size, 0));
  EXPECT_LT(plainly<small_components>(graph, edge_directions::both).phases, 8U);
}

/// Two cliques outside the largest component, and one edge between them, which no end has among its first ones.
TEST_P(components_on_threads, an_edge_behind_the_first_ones_is_not_lost) {
  edges some;
  for (std::uint32_t leaf = 1; leaf < 100; ++leaf) some.push_back({0, leaf});
  for (std::uint32_t const clique : {100U, 120U}) {
    std::vector<std::uint32_t> ids(12);
    std::iota(ids.begin(), ids.end(), clique);
    ids.push_back(clique == 100 ? 140 : 141);
    for (std::uint32_t const a : ids) {
      for (std::uint32_t const b : ids) {
        if (a < b) some.push_back({a, b});
      }
    }
  }
  some.push_back({140, 141});
  named_graph const one{"cliques", graph_of(142, some, mirror::all)};
  expect_right<small_components>(one);
  EXPECT_EQ(plainly<small_components>(one.graph, edge_directions::both).labels[120], 100U);
}

TEST_P(components_on_threads, grain_and_blocks_change_no_bit) {
  std::vector<named_graph> const some{
      {"kronecker", generate_kronecker({.scale = solo() ? 9U : 6U})},
      {"cliques", graph_of(300, cliques_of(15, 20), mirror::all)},
      {"grid, shuffled", graph_of(900, shuffled(grid_of(30), 900))},
  };
  for (auto const& [name, graph] : some) {
    edge_directions const said = directions_of(graph);
    auto const expected = plainly<small_components>(graph, said).labels;
    for (std::uint32_t const grain : {2U, 7U, 1000U}) {
      EXPECT_EQ(plainly<small_components>(graph, said, grain, 3).labels, expected) << name << ", grain " << grain;
    }
    EXPECT_EQ(plainly<small_components>(graph, said, 1, 1).labels, expected) << name;
    EXPECT_EQ(plainly<small_components>(graph, edge_directions::one).labels, expected) << name;
  }
}

TEST_P(components_on_threads, preemption_changes_no_bit) {
  std::vector<named_graph> const some{
      {"kronecker", generate_kronecker({.scale = solo() ? 11U : 10U})},
      {"cliques", graph_of(900, cliques_of(45, 20), mirror::all)},
      {"one way", graph_of(solo() ? 1600 : 400, grid_of(solo() ? 40 : 20))},
  };
  for (auto const& [name, graph] : some) {
    edge_directions const said = directions_of(graph);
    auto const expected = plainly<small_components>(graph, said).labels;
    runtime side{in_bubbles()};
    components_arrays<small_components> arrays{executor_of(side), graph, said};
    expect_same_when_preempted(
        side, arrays, [&] { EXPECT_EQ(arrays.labels(), expected); }, name, 2);
    for (std::uint32_t const label : arrays.labels()) ASSERT_EQ(label, 0U);
  }
}

/// Counts how often its first pass ends.
struct counted_hooks : small_components {
  std::atomic<std::uint32_t>* hooks;

  void advance(position ended, auto const& team) const noexcept {
    if (team.rank() == 0 && progress->pass == components_pass::hook) ++*hooks;
    small_components::advance(ended, team);
  }
};

TEST_P(components_on_threads, each_trial_begins_at_the_start) {
  csr const graph = graph_of(900, cliques_of(45, 20), mirror::all);
  auto const expected = plainly<small_components>(graph, edge_directions::both).labels;
  runtime side{in_bubbles()};
  components_arrays<small_components> arrays{executor_of(side), graph, edge_directions::both, 3};
  for (int turn = 0; turn < 2; ++turn) {
    std::atomic<std::uint32_t> hooks{0};
    EXPECT_GT(run_in_chosen_bubbles(side, counted_hooks{{arrays.task()}, &hooks}, 1, 5), 1U) << "too few preemptions";
    EXPECT_EQ(arrays.labels(), expected);
    EXPECT_EQ(hooks, 3U);
    EXPECT_EQ(arrays.progress().trials, 3U);
    arrays.reset();
  }
}

TEST_P(components_on_threads, needs_nothing_of_what_its_labels_held) {
  csr const graph = generate_kronecker({.scale = solo() ? 9U : 5U});
  auto const expected = plainly<small_components>(graph, edge_directions::both).labels;
  auto const threads = executor_for();
  components_arrays<small_components> const arrays{*threads, graph, edge_directions::both};
  poison(*threads, arrays.written(), 0xff);
  run_task(*threads, arrays.task());
  EXPECT_EQ(arrays.labels(), expected);
}

TEST_P(components_on_threads, memory_that_does_not_suffice_is_refused_with_the_figures) {
  expect_refused_for_memory(
      [](executor& on) {
        components_arrays<components>{on, generate_kronecker({.scale = 10}), edge_directions::both};
      },
      "1024 vertices and 32768 edges");
}

INSTANTIATE_TEST_SUITE_P(teams, components_on_threads, test::one_and_four, test::team_of);

}  // namespace
}  // namespace lull
