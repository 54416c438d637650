// SPDX-License-Identifier: Apache-2.0
// Searches at once, on CPU threads in teams of one and of four: what they find is what single searches find, and the
// same bits however they are run.
#include <gtest/gtest.h>

#include <atomic>
#include <lull/graph/bfs/bfs_arrays.hpp>
#include <lull/graph/bfs/bfs_together_arrays.hpp>
#include <lull/graph/bfs/verify_bfs.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/tests/graph/bfs/small_bfs.hpp>
#include <lull/tests/graph/bfs_graphs.hpp>
#include <lull/tests/graph/row_lengths.hpp>
#include <lull/tests/graph/task_on_threads.hpp>
#include <string>
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
using all_found = std::vector<std::vector<bfs_found>>;

struct phase_counts : test::phase_counts<bfs_together_phase> {
  std::atomic<std::uint64_t> sliced{0};  // levels pushed in slices
};

struct sliced_levels : small_bfs_together {
  phase_counts* counts;

  void advance(position at, auto const& team) const noexcept {
    bfs_together_progress const& now = *on.progress;
    if (team.rank() == 0 && now.phase == bfs_together_phase::push && now.slices != 1) ++counts->sliced;
    small_bfs_together::advance(at, team);
  }
};

/// So many vertices spread over the graph, the first and the last among them; in a small graph, some of them often.
sources spread(csr const& graph, std::uint32_t count) {
  sources made;
  for (std::uint64_t i = 0; i < count; ++i) {
    made.push_back(static_cast<std::uint32_t>(i % 5 == 4 ? i * 7919 % graph.vertices()
                                                         : i * (graph.vertices() - 1) / (count > 1 ? count - 1 : 1)));
  }
  return made;
}

/// A search by a plain queue, then the lowest parent of each vertex by a look at all edges.
std::vector<bfs_found> searched(csr const& graph, std::uint32_t source) {
  std::vector<bfs_found> found(graph.vertices());
  found[source] = {0, source};
  std::vector<std::uint32_t> queue{source};
  auto const for_each_edge = [&](std::uint32_t from, auto const& visit) {
    for (std::uint64_t edge = graph.offsets[from]; edge < graph.offsets[from + 1ULL]; ++edge)
      visit(graph.targets[edge]);
  };
  for (std::size_t next = 0; next < queue.size(); ++next) {
    std::uint32_t const from = queue[next];
    for_each_edge(from, [&](std::uint32_t to) {
      if (found[to].depth != bfs_found::none) return;
      found[to].depth = found[from].depth + 1;
      queue.push_back(to);
    });
  }
  for (std::uint32_t from = 0; from < graph.vertices(); ++from) {
    if (found[from].depth == bfs_found::none) continue;
    for_each_edge(from, [&](std::uint32_t to) {
      if (found[to].depth == found[from].depth + 1 && from < found[to].parent) found[to].parent = from;
    });
  }
  return found;
}

all_found searched(csr const& graph, sources const& from) {
  all_found found;
  for (std::uint32_t const source : from) found.push_back(searched(graph, source));
  return found;
}

class bfs_together_on_threads : public test::task_on_threads {
 protected:
  /// All that an uninterrupted run wrote, without worker and protocol.
  test::all_bytes plainly(csr const& graph, sources const& from, std::uint32_t at_once, std::uint32_t grain = 1,
                          int processors = 2) const {
    auto const threads = executor_for(processors);
    bfs_together_arrays<small_bfs_together> const arrays{*threads, graph, from, at_once};
    test::run_task(*threads, arrays.task(), grain);
    return bytes_of(*threads, arrays.written());
  }

  template <class Task>
  static void expect_found(bfs_together_arrays<Task> const& arrays, all_found const& expected,
                           std::string const& name) {
    bfs_summary const end = arrays.summary();
    EXPECT_TRUE(end.over) << name;
    EXPECT_EQ(end.searches, expected.size()) << name;
    std::uint64_t next = 0;
    arrays.each_found([&](std::uint64_t search, std::vector<bfs_found> const& found) {
      EXPECT_EQ(search, next++) << name;
      EXPECT_EQ(found, expected[search]) << name << ", piece " << Task::piece << ", search " << search;
      return !testing::Test::HasFailure();
    });
    EXPECT_EQ(next, expected.size()) << name;
  }

  template <class Task>
  void expect_equal(named_graph const& one, sources const& from, std::uint32_t at_once, all_found const& single) const {
    auto const threads = executor_for();
    bfs_together_arrays<Task> const arrays{*threads, one.graph, from, at_once};
    test::run_task(*threads, arrays.task());
    expect_found(arrays, single, one.name + ", " + std::to_string(at_once) + " at once");
  }
  template <class Task>
  void expect_equal(named_graph const& one, sources const& from, std::uint32_t at_once) const {
    expect_equal<Task>(one, from, at_once, searched(one.graph, from));
  }

  /// How many phases of each kind there were.
  void count(csr const& graph, sources const& from, phase_counts& counts) const {
    auto const threads = executor_for(1);
    bfs_together_arrays<small_bfs_together> const arrays{*threads, graph, from, 64};
    test::run_counted(*threads, sliced_levels{arrays.task(), &counts}, counts);
    expect_found(arrays, searched(graph, from), "counted");
  }
};

TEST_P(bfs_together_on_threads, finds_what_the_task_of_single_searches_finds) {
  for (named_graph const& one :
       {named_graph{"kronecker", generate_kronecker({.scale = 7})}, named_graph{"star", from_rows(star(100))}}) {
    sources const from = spread(one.graph, 20);
    auto const threads = executor_for(1);
    bfs_arrays<small_bfs> const arrays{*threads, one.graph, from};
    test::run_task(*threads, arrays.task());
    all_found single;
    for (std::size_t search = 0; search < from.size(); ++search) single.push_back(arrays.found(search));
    expect_equal<small_bfs_together>(one, from, 64, single);
  }
}

TEST_P(bfs_together_on_threads, finds_what_is_there) {
  for (auto const& one : graphs(solo() ? 5 : 1)) {
    for (std::uint32_t const count : {2U, 64U}) {
      sources const from = spread(one.graph, count);
      auto const single = searched(one.graph, from);
      expect_equal<small_bfs_together>(one, from, 64, single);
      expect_equal<bfs_together>(one, from, 64, single);
    }
  }
}

TEST_P(bfs_together_on_threads, searches_group_after_group) {
  for (auto const& one : graphs(1)) {
    sources const from = spread(one.graph, solo() ? 131 : 66);
    auto const single = searched(one.graph, from);
    expect_equal<small_bfs_together>(one, from, 64, single);
    if (solo()) expect_equal<small_bfs_together>(one, from, 63, single);
  }
}

TEST_P(bfs_together_on_threads, how_many_at_once_changes_no_result) {
  named_graph const one{"kronecker", generate_kronecker({.scale = 6})};
  sources const from = spread(one.graph, 17);
  auto const single = searched(one.graph, from);
  for (std::uint32_t const at_once : {1U, 2U, 3U, 8U, 16U, 17U, 64U}) {
    expect_equal<small_bfs_together>(one, from, at_once, single);
  }
}

TEST_P(bfs_together_on_threads, searches_from_one_vertex_many_times) {
  for (auto const& one : graphs(1)) {
    expect_equal<small_bfs_together>(one, sources(64, one.graph.vertices() / 2), 64);
    expect_equal<small_bfs_together>(one, {0, 1 % one.graph.vertices(), 0, 0}, 64);
  }
}

TEST_P(bfs_together_on_threads, does_all_kinds_of_phases) {
  phase_counts counts;
  count(from_rows(layers({3, 3, 9, 40, 200, 300, 2, 2, 60, 300})), {0, 1, 2}, counts);
  counts.expect_all();
}

TEST_P(bfs_together_on_threads, goes_through_small_levels_a_few_at_a_time) {
  phase_counts counts;
  count(from_rows(path(301)), {0, 1, 2}, counts);
  EXPECT_LE(counts.of(bfs_together_phase::small), 302U / small_bfs_together::small_levels);
  EXPECT_EQ(counts.of(bfs_together_phase::push) + counts.of(bfs_together_phase::pull), 0U);
}

/// A star that is a small part of its graph is pushed, from many sources in slices.
TEST_P(bfs_together_on_threads, spreads_a_hub_over_many_items) {
  auto rows = star(150);
  rows.resize(solo() ? 3000 : 2000);
  for (std::uint32_t vertex = 151; vertex < rows.size(); ++vertex) rows[vertex].assign(solo() ? 12 : 18, vertex);
  csr const graph = from_rows(rows);
  for (std::uint32_t const many : {3U, 64U}) {
    sources from(many, 75);
    from.back() = 1;
    phase_counts counts;
    count(graph, from, counts);
    EXPECT_GT(counts.of(bfs_together_phase::push), 0U);
    EXPECT_EQ(counts.sliced != 0, many == 64) << many;
  }
  // Without slices an item has 16 edges and vertices, in slices an eighth of them; others zero 512 words each.
  auto const threads = executor_for(1);
  bfs_together_arrays<small_bfs_together> const arrays{*threads, graph, sources{75}, 64};
  small_bfs_together const task = arrays.task();
  bfs_together_progress now{};
  now.phase = bfs_together_phase::push;
  now.frontier = queue_mark::of(1, 151).word;
  now.before = 513;
  for (std::uint64_t const slices : {1U, 8U}) {
    now.slices = slices;
    threads->write(task.on.progress, &now, sizeof now);
    EXPECT_EQ(task.extent({}, 0), (151 * slices + 15) / 16 + 2);
  }
}

/// Rows about the borders of pieces, entered and left.
TEST_P(bfs_together_on_threads, finds_the_same_whatever_the_degrees) {
  std::vector<std::uint32_t> const degrees{0, 1, 2, 3, 4, 15, 16, 17, 31, 32, 33, 48, 64, 100};
  for (std::uint32_t turn = 0; turn < (solo() ? 20U : 2U); ++turn) {
    std::vector<std::uint32_t> entering;
    for (std::uint32_t vertex = 0; vertex < 40 + turn * 13; ++vertex) {
      entering.push_back(degrees[(vertex * (turn + 3) + turn) % (turn % 2 == 0 ? degrees.size() : 5)]);
    }
    csr const in = test::graph_entered_by(entering);
    sources const from = spread(in, 4 + turn * 3);
    expect_equal<small_bfs_together>({"entered, turn " + std::to_string(turn), in}, from, 64);
    expect_equal<small_bfs_together>({"left, turn " + std::to_string(turn), transpose(in)}, from, 64);
  }
}

TEST_P(bfs_together_on_threads, finds_the_same_in_pieces_of_any_size) {
  named_graph const one{"kronecker", generate_kronecker({.scale = solo() ? 9U : 6U})};
  sources const from = spread(one.graph, 40);
  auto const single = searched(one.graph, from);
  expect_equal<basic_bfs_together<8, 32>>(one, from, 64, single);
  expect_equal<basic_bfs_together<64, 64>>(one, from, 64, single);
  expect_equal<basic_bfs_together<256, 128>>(one, from, 64, single);
}

TEST_P(bfs_together_on_threads, grain_and_blocks_change_no_bit) {
  for (auto const& [name, graph] : graphs(solo() ? 3 : 1)) {
    sources const from = spread(graph, 20);
    auto const expected = plainly(graph, from, 12);
    for (std::uint32_t const grain : {2U, 7U, 1000U}) {
      EXPECT_EQ(plainly(graph, from, 12, grain, 3), expected) << name << ", grain " << grain;
    }
    EXPECT_EQ(plainly(graph, from, 12, 1, 1), expected) << name;
  }
}

TEST_P(bfs_together_on_threads, preemption_changes_no_bit) {
  std::vector<named_graph> const some{{"kronecker", generate_kronecker({.scale = solo() ? 8U : 5U})},
                                      {"layers", from_rows(layers({1, 3, 40, 200, 300, 5, 90, 1, 70}))}};
  for (auto const& [name, graph] : some) {
    sources const from = spread(graph, 20);
    auto const expected = plainly(graph, from, 15);
    runtime side{in_bubbles()};
    bfs_together_arrays<small_bfs_together> arrays{executor_of(side), graph, from, 15};
    expect_same_when_preempted(
        side, arrays, [&] { EXPECT_EQ(bytes_of(executor_of(side), arrays.written()), expected); }, name, 4, 11);
  }
}

TEST_P(bfs_together_on_threads, needs_nothing_of_what_its_arrays_held) {
  for (auto const& one : graphs(1)) {
    sources const from = spread(one.graph, 9);
    auto const threads = executor_for(1);
    bfs_together_arrays<small_bfs_together> const arrays{*threads, one.graph, from, 5};
    test::poison(*threads, arrays.written());
    test::run_task(*threads, arrays.task());
    expect_found(arrays, searched(one.graph, from), one.name);
  }
}

TEST_P(bfs_together_on_threads, refuses_what_it_cannot_do) {
  csr const graph = generate_kronecker({.scale = 10});
  test::expect_refused_for_memory(
      [&](executor& on) {
        bfs_together_arrays<bfs_together>{on, graph, sources{3, 4}, 64};
      },
      "1024 vertices and 32768 edges from 2 sources, 64 at once");
  auto const threads = executor_for();
  for (std::uint32_t const at_once : {0U, 65U}) {
    EXPECT_THROW((bfs_together_arrays<bfs_together>{*threads, graph, sources{3}, at_once}), usage_error) << at_once;
  }
}

INSTANTIATE_TEST_SUITE_P(teams, bfs_together_on_threads, test::one_and_four, test::team_of);

}  // namespace
}  // namespace lull
