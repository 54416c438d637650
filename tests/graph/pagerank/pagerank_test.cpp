// SPDX-License-Identifier: Apache-2.0
// The functor on CPU threads, in teams of one and of four: right by another algorithm, and the same bits however it is
// run.
#include <gtest/gtest.h>

#include <cmath>
#include <lull/graph/load/generate.hpp>
#include <lull/graph/pagerank/pagerank_arrays.hpp>
#include <lull/graph/pagerank/verify_pagerank.hpp>
#include <lull/tests/graph/row_lengths.hpp>
#include <lull/tests/graph/task_on_threads.hpp>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lull {
namespace {

/// So small that rows span tiles and blocks of tiles in graphs that a person can see through.
using small_pagerank = basic_pagerank<16, 4, 32>;
static_assert(side_task<small_pagerank>);

struct named_graph {
  std::string name;
  csr graph;
};

csr from_rows(std::vector<std::vector<std::uint32_t>> const& rows) {
  csr made;
  made.offsets.push_back(0);
  for (auto const& row : rows) {
    made.targets.insert(made.targets.end(), row.begin(), row.end());
    made.offsets.push_back(made.targets.size());
  }
  validate(made);
  return made;
}

/// Every vertex but `empty` of them leads to the hub, which stands in the middle and leads to a few.
csr hub(std::uint32_t leaves, std::uint32_t empty) {
  std::vector<std::vector<std::uint32_t>> rows(leaves + 1 + empty);
  std::uint32_t const middle = leaves / 2;
  for (std::uint32_t vertex = 0; vertex <= leaves; ++vertex) rows[vertex] = {middle};
  rows[middle] = {0, 1, middle + 1};
  return from_rows(rows);
}

/// Larger ones are `times` as large.
std::vector<named_graph> graphs(std::uint32_t times) {
  std::vector<std::vector<std::uint32_t>> cycle(40);
  for (std::uint32_t vertex = 0; vertex < 40; ++vertex) cycle[vertex] = {(vertex + 1) % 40};
  std::vector<std::vector<std::uint32_t>> loops(100);
  for (std::uint32_t vertex = 0; vertex < 100; ++vertex) loops[vertex].assign(vertex % 7, vertex - vertex % 3);
  std::vector<std::vector<std::uint32_t>> two_hubs(300);  // the second row begins where the first ends
  for (std::uint32_t vertex = 0; vertex < 300; ++vertex) two_hubs[vertex] = {7, 8, 8};
  return {{"one vertex", from_rows({{}})},
          {"star", from_rows({{}, {0}, {0}, {0}, {0}})},
          {"star both ways", from_rows({{1, 2, 3, 4}, {0}, {0}, {0}, {0}})},
          {"cycle", from_rows(cycle)},
          {"self-loops, duplicates and dangling vertices", from_rows(loops)},
          {"two hubs", from_rows(two_hubs)},
          {"isolated vertices", from_rows(std::vector<std::vector<std::uint32_t>>(300 * times))},
          {"hub", hub(300 * times, 150 * times)},
          {"kronecker", generate_kronecker({.scale = times > 1 ? 10U : 6U})}};
}

class pagerank_on_threads : public test::task_on_threads {
 protected:
  /// Ranks of an uninterrupted run, without worker and protocol.
  template <class Task>
  std::vector<float> plainly(csr const& graph, pagerank_settings const& settings, std::uint32_t grain = 1,
                             int processors = 2, pagerank_progress* end = nullptr) const {
    auto const threads = executor_for(processors);
    pagerank_arrays<Task> const arrays{*threads, graph, settings};
    test::run_task(*threads, arrays.task(), grain);
    if (end != nullptr) *end = arrays.progress();
    return arrays.ranks();
  }

  template <class Task>
  pagerank_verdict judge(csr const& graph, std::vector<float> const& ranks, pagerank_settings const& settings,
                         pagerank_progress const& end) const {
    return verify_pagerank(graph, ranks,
                           {.damping = settings.damping,
                            .tolerance = settings.tolerance,
                            .converged = end.converged != 0,
                            .sweeps = end.sweeps,
                            .max_chain = Task::max_chain(static_cast<std::uint32_t>(GetParam()))});
  }

  template <class Task>
  void expect_right(named_graph const& one, pagerank_settings const& settings) const {
    pagerank_progress end;
    auto const ranks = plainly<Task>(one.graph, settings, 1, 2, &end);
    auto const verdict = judge<Task>(one.graph, ranks, settings, end);
    EXPECT_TRUE(verdict.ok) << one.name << ", tile " << Task::tile << ": " << verdict.message;
    EXPECT_LT(verdict.bound, 1e-3) << one.name;
    EXPECT_EQ(end.converged, 1U) << one.name;
    EXPECT_NEAR(std::accumulate(ranks.begin(), ranks.end(), 0.0), 1, verdict.bound) << one.name;
    double dangling = 0;
    for (std::uint32_t vertex = 0; vertex < one.graph.vertices(); ++vertex) {
      if (one.graph.offsets[vertex] == one.graph.offsets[vertex + 1ULL]) dangling += ranks[vertex];
    }
    EXPECT_NEAR(end.dangling, dangling, 1e-12) << one.name;
  }
};

TEST_P(pagerank_on_threads, equals_the_verifier) {
  for (double const damping : {0.0, 0.85}) {
    for (auto const& one : graphs(20)) expect_right<pagerank>(one, {.damping = damping});
    for (auto const& one : graphs(solo() ? 20 : 1)) expect_right<small_pagerank>(one, {.damping = damping});
  }
}

TEST_P(pagerank_on_threads, adds_up_a_row_over_many_blocks_of_tiles) {
  // 6000 edges in tiles of 16 and blocks of 4: some 90 blocks lie within one row.
  if (solo()) expect_right<small_pagerank>({"hub of 6000", hub(6000, 0)}, {});
  for (std::uint32_t leaves = 118; leaves < 136; ++leaves) {  // about the borders of tiles and blocks
    expect_right<small_pagerank>({"hub of " + std::to_string(leaves), hub(leaves, 5)}, {});
  }
}

TEST_P(pagerank_on_threads, adds_up_rows_whatever_their_lengths) {
  // About tiles of 16, blocks of 64 and the 128 vertices of an item of settle.
  std::vector<std::uint32_t> const lengths{0,  0,  0,  1,  2,  3,  4,   15,  16,  17, 31,
                                           32, 33, 48, 63, 64, 65, 127, 128, 129, 200};
  std::mt19937 random{7};
  for (int turn = 0; turn < (solo() ? 60 : 6); ++turn) {
    std::vector<std::uint32_t> entering(1 + random() % 270);
    for (auto& length : entering) length = lengths[random() % (turn % 2 == 0 ? lengths.size() : 9)];
    expect_right<small_pagerank>({"rows of turn " + std::to_string(turn), test::graph_entered_by(entering)}, {});
  }
  for (std::uint32_t const full : {16U, 64U, 256U}) {  // nothing but full tiles, a row each, and one row for all
    expect_right<small_pagerank>({"full tiles", test::graph_entered_by(std::vector<std::uint32_t>(full / 16, 16))}, {});
    expect_right<small_pagerank>({"one row", test::graph_entered_by({0, full, 0})}, {});
    expect_right<small_pagerank>({"rows of one", test::graph_entered_by(std::vector<std::uint32_t>(full, 1))}, {});
  }
}

/// The same in other tiles, with other numbers of edges that a thread asks for at once.
TEST_P(pagerank_on_threads, is_right_in_tiles_of_any_size) {
  csr const graph = generate_kronecker({.scale = solo() ? 9U : 6U});
  expect_right<basic_pagerank<4, 1, 32>>({"4", graph}, {});
  expect_right<basic_pagerank<64, 2, 32>>({"64", graph}, {});
  expect_right<basic_pagerank<256, 8, 32>>({"256", graph}, {});
  expect_right<basic_pagerank<512, 8, 32>>({"512", graph}, {});
  expect_right<basic_pagerank<1024, 16, 32>>({"1024", graph}, {});
}

TEST_P(pagerank_on_threads, says_when_it_has_not_converged) {
  csr const graph = generate_kronecker({.scale = 8});
  pagerank_settings const settings{.sweeps = 3};
  pagerank_progress end;
  auto const ranks = plainly<small_pagerank>(graph, settings, 1, 2, &end);
  EXPECT_EQ(end.converged, 0U);
  EXPECT_EQ(end.sweeps, 3U);
  EXPECT_GT(end.change, settings.tolerance);
  auto const verdict = judge<small_pagerank>(graph, ranks, settings, end);
  EXPECT_TRUE(verdict.ok) << verdict.message;
}

TEST_P(pagerank_on_threads, ends_with_the_first_sweep_below_the_tolerance) {
  csr const graph = generate_kronecker({.scale = 8});
  pagerank_progress end;
  plainly<pagerank>(graph, {.tolerance = 1e-4}, 1, 2, &end);
  ASSERT_EQ(end.converged, 1U);
  EXPECT_LT(end.change, 1e-4);
  // One sweep less is not enough, and its change is that of the ranks before and after it.
  pagerank_progress before;
  auto const last = plainly<pagerank>(graph, {.tolerance = 1e-4, .sweeps = end.sweeps - 1}, 1, 2, &before);
  EXPECT_EQ(before.converged, 0U);
  EXPECT_GE(before.change, 1e-4);
  auto const ranks = plainly<pagerank>(graph, {.tolerance = 1e-9, .sweeps = end.sweeps});
  double change = 0;
  for (std::size_t vertex = 0; vertex < ranks.size(); ++vertex)
    change += std::abs(double{ranks[vertex]} - last[vertex]);
  EXPECT_NEAR(end.change, change, change * 1e-5);
}

TEST_P(pagerank_on_threads, grain_and_blocks_change_no_bit) {
  std::vector<named_graph> const some{{"kronecker", generate_kronecker({.scale = solo() ? 9U : 5U})},
                                      {"hub", hub(solo() ? 3000 : 400, 100)}};
  for (auto const& [name, graph] : some) {
    auto const expected = plainly<small_pagerank>(graph, {});
    for (std::uint32_t const grain : {2U, 7U, 1000U}) {
      EXPECT_EQ(plainly<small_pagerank>(graph, {}, grain, 3), expected) << name << ", grain " << grain;
    }
    EXPECT_EQ(plainly<small_pagerank>(graph, {}, 1, 1), expected) << name;
  }
}

TEST_P(pagerank_on_threads, preemption_changes_no_bit) {
  std::vector<named_graph> const some{{"kronecker", generate_kronecker({.scale = solo() ? 8U : 5U})},
                                      {"hub", hub(solo() ? 3000 : 400, 100)}};
  for (auto const& [name, graph] : some) {
    auto const expected = plainly<small_pagerank>(graph, {});
    runtime side{in_bubbles()};
    pagerank_arrays<small_pagerank> arrays{executor_of(side), graph, {}};
    expect_same_when_preempted(
        side, arrays, [&] { EXPECT_EQ(arrays.ranks(), expected); }, name, 16, 23);
    for (float const rank : arrays.ranks()) ASSERT_EQ(rank, 0);
  }
}

TEST_P(pagerank_on_threads, needs_nothing_of_what_its_arrays_held) {
  csr const graph = generate_kronecker({.scale = solo() ? 9U : 5U});
  auto const expected = plainly<small_pagerank>(graph, {});
  auto const threads = executor_for();
  pagerank_arrays<small_pagerank> const arrays{*threads, graph, {}};
  test::poison(*threads, arrays.written(), 0xff);  // NaN in fp32 and in fp64
  test::run_task(*threads, arrays.task());
  EXPECT_EQ(arrays.ranks(), expected);
}

TEST_P(pagerank_on_threads, memory_that_does_not_suffice_is_refused_with_the_figures) {
  test::expect_refused_for_memory(
      [](executor& on) {
        pagerank_arrays<pagerank>{on, generate_kronecker({.scale = 10}), {}};
      },
      "1024 vertices and 32768 edges");
}

INSTANTIATE_TEST_SUITE_P(teams, pagerank_on_threads, test::one_and_four, test::team_of);

}  // namespace
}  // namespace lull
