// SPDX-License-Identifier: Apache-2.0
// The functor on CPU threads, in teams of one and of four: right by its verifier, and the same bits however it is run.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <lull/graph/load/edge_weights.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/graph/sssp/sssp_arrays.hpp>
#include <lull/graph/sssp/verify_sssp.hpp>
#include <lull/tests/graph/edges_graph.hpp>
#include <lull/tests/graph/sssp/small_sssp.hpp>
#include <lull/tests/graph/task_on_threads.hpp>
#include <string>
#include <vector>

namespace lull {
namespace {

using namespace test;
using sources = std::vector<std::uint32_t>;

struct named_graph {
  std::string name;
  csr graph;
  double delta;
};

/// With drawn weights.
named_graph weighted(std::string name, csr graph, std::uint32_t max, double delta) {
  draw_weights(graph, 11, max);
  return {std::move(name), std::move(graph), delta};
}

/// Floats: sixteenths from 0 on, and some so small that sums lose them.
csr with_real_weights(csr graph) {
  draw_weights(graph, 4, 64);
  for (float& weight : graph.weights) weight = weight > 60 ? 0x1p-30F : (weight - 1) / 16;
  return graph;
}

/// Nearer and nearer: vertex v has an edge to each later one, as long as the square of the distance between them.
csr slides(std::uint32_t vertices) {
  edges made;
  for (std::uint32_t from = 0; from < vertices; ++from) {
    for (std::uint32_t to = from + 1; to < vertices; ++to) made.push_back({from, to});
  }
  csr graph = graph_of(vertices, made);
  for (std::uint32_t from = 0; from < vertices; ++from) {
    for (std::uint64_t edge = graph.offsets[from]; edge < graph.offsets[from + 1ULL]; ++edge) {
      auto const far = static_cast<float>(graph.targets[edge] - from);
      graph.weights.push_back(far * far);
    }
  }
  return graph;
}

/// Those that reach each kind of phase, small enough for teams whose barriers take long.
std::vector<named_graph> few_graphs() {
  return {weighted("star", graph_of(60, star_of(60, 17), mirror::all), 300, 60),
          {"floats over a grid", with_real_weights(generate_grid(5)), 0.7},
          weighted("kronecker", generate_kronecker({.scale = 4}), 255, 60)};
}

/// Larger ones are `times` as large.
std::vector<named_graph> graphs(std::uint32_t times) {
  edges const loops{{0, 0}, {0, 1}, {0, 1}, {1, 2}, {2, 2}, {2, 0}, {1, 2}, {0, 3}, {3, 2}};
  csr nothing = graph_of(40 * times, grid_of(5));
  nothing.weights.assign(nothing.edges(), 0.0F);
  csr const kronecker = generate_kronecker({.scale = times > 1 ? 10U : 6U});
  return {{"one vertex", graph_of(1, {}), 1},
          {"no edges", graph_of(30, {}), 1},
          weighted("one loop", graph_of(1, {{0, 0}}), 3, 1),
          weighted("loops and duplicates", graph_of(5, loops), 9, 3),
          {"weights of 0", nothing, 1},
          weighted("path", graph_of(100 * times, path_of(100 * times)), 7, 4),
          weighted("star", graph_of(200 * times, star_of(200 * times, 77), mirror::all), 300, 20),
          weighted("grid", generate_grid(6 * times), 255, 300),
          {"slides", slides(30), 5},
          {"floats over a grid", with_real_weights(generate_grid(6 * times)), 0.7},
          {"floats", with_real_weights(kronecker), 0.2},
          weighted("kronecker", kronecker, 255, 30),
          weighted("one bucket", kronecker, 255, 1e9),
          weighted("a bucket for each distance", kronecker, 20, 1),
          weighted("heavy", graph_of(90, path_of(90)), max_whole_weight, 1e7),
          weighted("uniform", generate_uniform({.scale = times > 1 ? 9U : 5U}), 255, 100)};
}

template <class Task>
sssp_arrays<Task> arrays_of(executor& executor, named_graph const& one, sources const& from) {
  csr const& graph = one.graph;
  weight_kind const kind = graph.edges() == 0 ? weight_kind::whole : kind_of_weights(graph);
  return {executor, graph, graph.weights, kind, from, one.delta};
}

sssp_verdict verdict_on(named_graph const& one, std::uint32_t source, std::vector<sssp_found> const& found) {
  weight_kind const kind = one.graph.edges() == 0 ? weight_kind::whole : kind_of_weights(one.graph);
  return verify_sssp(one.graph, kind, source, found);
}

class sssp_on_threads : public test::task_on_threads {
 protected:
  std::vector<named_graph> some_graphs(std::uint32_t times) const { return solo() ? graphs(times) : few_graphs(); }

  /// All that an uninterrupted run wrote, without worker and protocol.
  template <class Task>
  all_bytes plainly(named_graph const& one, sources const& from, std::uint32_t grain = 1, int processors = 2) const {
    auto const threads = executor_for(processors);
    auto const arrays = arrays_of<Task>(*threads, one, from);
    run_task(*threads, arrays.task(), grain);
    return bytes_of(*threads, arrays.written());
  }

  template <class Task>
  void expect_right(named_graph const& one, sources const& from) const {
    auto const threads = executor_for();
    auto const arrays = arrays_of<Task>(*threads, one, from);
    run_task(*threads, arrays.task());
    for (std::size_t search = 0; search < from.size(); ++search) {
      auto const verdict = verdict_on(one, from[search], arrays.found(search));
      EXPECT_TRUE(verdict.ok) << one.name << ", piece " << Task::piece << ", from " << from[search] << ": "
                              << verdict.message;
    }
    sssp_progress const end = arrays.progress();
    EXPECT_EQ(end.phase, sssp_phase::end) << one.name;
    EXPECT_EQ(end.search, from.size()) << one.name;
  }

  /// How many phases of each kind there were.
  void count(named_graph const& one, sources const& from, phase_counts<sssp_phase>& counts) const {
    auto const threads = executor_for(1);
    auto const arrays = arrays_of<small_sssp>(*threads, one, from);
    run_counted(*threads, arrays.task(), counts);
  }
};

TEST_P(sssp_on_threads, is_right) {
  for (auto const& one : some_graphs(10)) {
    auto const last = one.graph.vertices() - 1;
    for (std::uint32_t const source : {0U, last / 2, last}) {
      expect_right<small_sssp>(one, {source});
      if (solo()) expect_right<sssp>(one, {source});
    }
  }
}

TEST_P(sssp_on_threads, searches_from_one_source_after_the_other) {
  for (auto const& one : some_graphs(1)) {
    auto const last = one.graph.vertices() - 1;
    expect_right<small_sssp>(one, {last, 0, last / 3, 0});
  }
}

TEST_P(sssp_on_threads, does_all_kinds_of_phases) {
  phase_counts<sssp_phase> counts;
  count(weighted("grid", generate_grid(12), 255, 300), {0, 1}, counts);
  counts.expect_all();
}

TEST_P(sssp_on_threads, goes_through_small_waves_a_few_at_a_time) {
  phase_counts<sssp_phase> counts;
  count({"path", weighted("", graph_of(61, path_of(61)), 1, 1).graph, 1000}, {0}, counts);
  EXPECT_EQ(counts.of(sssp_phase::relax), 60U / small_sssp::small_waves);
  EXPECT_EQ(counts.of(sssp_phase::tree), 60U / small_sssp::small_waves);
  EXPECT_EQ(counts.of(sssp_phase::collect), 0U);
}

/// Buckets that hold nothing are not gone through.
TEST_P(sssp_on_threads, begins_a_bucket_at_the_nearest_that_is_far) {
  csr graph = graph_of(20, path_of(20));
  graph.weights.assign(graph.edges(), 1e6F);
  phase_counts<sssp_phase> counts;
  count({"heavy path", graph, 1}, {0}, counts);
  EXPECT_EQ(counts.of(sssp_phase::collect), 18U);  // the end has no edges
}

/// 256 edges of 2²⁴ are one more than the largest distance; a vertex with a shorter path beside is none that is too
/// far.
TEST_P(sssp_on_threads, tells_of_a_vertex_that_is_too_far) {
  for (std::uint32_t const vertices : {256U, 257U}) {
    edges made = path_of(vertices);
    made.push_back({255, 1});
    csr graph = graph_of(vertices, made);
    graph.weights.assign(graph.edges(), static_cast<float>(max_whole_weight));
    auto const threads = executor_for();
    auto const arrays = arrays_of<small_sssp>(*threads, {"long", graph, 1e8}, {0});
    run_task(*threads, arrays.task());
    EXPECT_EQ(arrays.progress().too_far, vertices == 257 ? 1U : 0U) << vertices;
    auto const found = arrays.found(0);
    EXPECT_EQ(found[255].distance, std::uint64_t{255} << 24);
    if (vertices == 257) {
      EXPECT_EQ(found[256], sssp_found{});
    }
  }
}

TEST_P(sssp_on_threads, spreads_a_hub_over_many_items) {
  auto const one =
      weighted("star", graph_of(solo() ? 6001 : 201, star_of(solo() ? 6001 : 201, 99), mirror::all), 50, 9);
  for (std::uint32_t const source : {0U, 99U}) expect_right<small_sssp>(one, {source});
  auto const threads = executor_for(1);
  auto const arrays = arrays_of<small_sssp>(*threads, one, {99});
  small_sssp const task = arrays.task();
  sssp_progress now{};
  now.begin_at_source(task.on.graph, queue_mark::of(1, one.graph.edges() / 2));
  threads->write(task.on.progress, &now, sizeof now);
  EXPECT_EQ(task.extent({}, 0), (one.graph.edges() / 2 + 15) / 16);
}

TEST_P(sssp_on_threads, is_right_in_pieces_of_any_size) {
  auto const one = weighted("kronecker", generate_kronecker({.scale = solo() ? 9U : 4U}), 99, 20);
  expect_right<basic_sssp<4, 32>>(one, {1});
  expect_right<basic_sssp<64, 64>>(one, {1});
  expect_right<basic_sssp<256, 128>>(one, {1});
}

TEST_P(sssp_on_threads, grain_blocks_and_delta_change_no_bit) {
  for (auto one : some_graphs(10)) {
    sources const from{one.graph.vertices() / 2, 0};
    auto const expected = plainly<small_sssp>(one, from);
    for (std::uint32_t const grain : {2U, 1000U}) {
      EXPECT_EQ(plainly<small_sssp>(one, from, grain, 3), expected) << one.name << ", grain " << grain;
    }
    EXPECT_EQ(plainly<small_sssp>(one, from, 7, 1), expected) << one.name;
    one.delta *= 3;
    EXPECT_EQ(plainly<small_sssp>(one, from), expected) << one.name;
  }
}

TEST_P(sssp_on_threads, preemption_changes_no_bit) {
  std::vector<named_graph> const some{weighted("kronecker", generate_kronecker({.scale = solo() ? 8U : 5U}), 255, 60),
                                      {"floats over a grid", with_real_weights(generate_grid(solo() ? 16 : 5)), 0.7}};
  for (auto const& one : some) {
    sources const from{0, 2, 1};
    auto const expected = plainly<small_sssp>(one, from);
    runtime side{in_bubbles()};
    auto arrays = arrays_of<small_sssp>(executor_of(side), one, from);
    expect_same_when_preempted(
        side, arrays, [&] { EXPECT_EQ(bytes_of(executor_of(side), arrays.written()), expected); }, one.name);
  }
}

TEST_P(sssp_on_threads, needs_nothing_of_what_its_arrays_held) {
  for (auto const& one : some_graphs(1)) {
    sources const from{one.graph.vertices() / 2, 0};
    auto const threads = executor_for(1);
    auto const arrays = arrays_of<small_sssp>(*threads, one, from);
    test::poison(*threads, arrays.written());
    run_task(*threads, arrays.task());
    for (std::size_t search = 0; search < from.size(); ++search) {
      auto const verdict = verdict_on(one, from[search], arrays.found(search));
      EXPECT_TRUE(verdict.ok) << one.name << ": " << verdict.message;
    }
  }
}

/// Of all that a run wrote, distances and labels are left.
TEST_P(sssp_on_threads, leaves_nothing_that_depends_on_timing) {
  auto const one = weighted("kronecker", generate_kronecker({.scale = 4}), 255, 60);
  auto const threads = executor_for();
  auto const arrays = arrays_of<small_sssp>(*threads, one, {1, 2});
  run_task(*threads, arrays.task());
  auto const bytes = bytes_of(*threads, arrays.written());
  for (std::size_t i = 2; i + 1 < bytes.size(); ++i) {
    EXPECT_EQ(std::count(bytes[i].begin(), bytes[i].end(), 0), static_cast<std::ptrdiff_t>(bytes[i].size()))
        << arrays.written()[i].array.name;
  }
  sssp_progress expected{};
  expected.search = 2;
  expected.phase = sssp_phase::end;
  EXPECT_EQ(std::memcmp(bytes.back().data(), &expected, sizeof expected), 0);
}

TEST(sssp_arrays, refuse_memory_that_does_not_suffice_with_the_figures) {
  auto const one = weighted("kronecker", generate_kronecker({.scale = 10}), 5, 1);
  expect_refused_for_memory(
      [&](executor& on) {
        arrays_of<sssp>(on, one, {3, 4});
      },
      "1024 vertices and 32768 edges from 2 sources");
}

TEST(sssp_graph, a_bucket_ends_behind_its_beginning) {
  sssp_graph const whole{.edges = 0, .vertices = 0, .searches = 1, .kind = weight_kind::whole, .delta = 3};
  EXPECT_EQ(whole.end_of_bucket(7), 10U);
  auto const bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  sssp_graph const real{.edges = 0, .vertices = 0, .searches = 1, .kind = weight_kind::real, .delta = bits(0.5F)};
  EXPECT_EQ(real.end_of_bucket(bits(7)), bits(7.5F));
  EXPECT_EQ(real.end_of_bucket(bits(0x1p30F)), bits(0x1p30F) + 1) << "the next float";
}

INSTANTIATE_TEST_SUITE_P(teams, sssp_on_threads, test::one_and_four, test::team_of);

}  // namespace
}  // namespace lull
