// SPDX-License-Identifier: Apache-2.0
// Items are bounded whatever the degree: each graph task over a graph of two hubs, item by item, with a count of the
// pages of the edges' arrays that an item touches. An item that went through a hub's edges would touch all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <lull/graph/betweenness/betweenness_arrays.hpp>
#include <lull/graph/betweenness/verify_betweenness.hpp>
#include <lull/graph/bfs/bfs_arrays.hpp>
#include <lull/graph/bfs/verify_bfs.hpp>
#include <lull/graph/components/components_arrays.hpp>
#include <lull/graph/components/verify_components.hpp>
#include <lull/graph/graph_sgd/graph_sgd_arrays.hpp>
#include <lull/graph/kcore/kcore_arrays.hpp>
#include <lull/graph/load/edge_weights.hpp>
#include <lull/graph/pagerank/pagerank_arrays.hpp>
#include <lull/graph/sssp/sssp_arrays.hpp>
#include <lull/graph/sssp/verify_sssp.hpp>
#include <lull/graph/triangles/triangles_arrays.hpp>
#include <lull/host/threads/worker.hpp>
#include <lull/tests/graph/edges_graph.hpp>
#include <lull/tests/graph/run_in_bubbles.hpp>
#include <lull/tests/graph/touched_pages.hpp>
#include <lull/tests/support/threads_job.hpp>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace lull {
namespace {

using test::edges;
using watched_arrays = std::vector<std::span<std::byte const>>;

/// Of a run.
struct page_counts {
  test::touched_pages* pages;
  std::uint64_t max = 0;  // of an item, or of an `advance`
  std::uint64_t all = 0;  // of each of these, added up
  std::uint64_t items = 0;

  void add(std::uint64_t count) {
    max = std::max(max, count);
    all += count;
    ++items;
  }
};

/// Does the items of a chunk one after the other, and counts what each touches. For a machine with one team.
template <class Task>
struct watched : Task {
  page_counts* counts;

  void operator()(chunk c, auto const& team) const noexcept {
    for (std::uint64_t item = c.begin; item < c.end; ++item) {
      count(team, [&] { Task::operator()({c.at, item, item + 1}, team); });
    }
  }
  void advance(position ended, auto const& team) const noexcept
    requires has_advance<Task>
  {
    count(team, [&] { Task::advance(ended, team); });
  }

 private:
  void count(auto const& team, auto const& work) const noexcept {
    if (team.rank() == 0) counts->pages->begin();
    team.sync();
    work();
    team.sync();
    if (team.rank() == 0) counts->add(counts->pages->end());
  }
};

template <class T>
std::span<std::byte const> bytes_of(T const* array, std::uint64_t count) {
  return std::as_bytes(std::span{array, static_cast<std::size_t>(count)});
}

class hubs : public testing::TestWithParam<int> {
 protected:
  static constexpr std::uint32_t strangers = 32;

  /// Barriers of several threads on few processors take long, so those get less to do.
  std::uint32_t leaves() const { return GetParam() == 1 ? 1U << 17 : 1U << 16; }
  std::uint64_t hub_pages() const { return leaves() * sizeof(std::uint32_t) / test::touched_pages::page_bytes(); }

  /// An edge leads from the first hub to the second and to all leaves, and from each of these to the second hub; from
  /// some vertices that nothing leads to as well, and they are the first in its row.
  csr two_hubs(mirror mirrored = mirror::none) const {
    std::uint32_t const first = strangers;
    std::uint32_t const second = first + 1 + leaves();
    edges made;
    for (std::uint32_t vertex = 0; vertex < second; ++vertex) made.push_back({vertex, second});
    for (std::uint32_t leaf = first + 1; leaf < second; ++leaf) made.push_back({first, leaf});
    return test::graph_of(second + 1, made, mirrored);
  }

  std::unique_ptr<executor> executor_for() const {
    return make_executor({.kind = executor_kind::threads, .processors = 1, .team_width = GetParam()});
  }

  /// Runs the task, no item of which may touch more than a few pages of these arrays; in all they touch as many as
  /// `pages_read`, or else the test has not reached what it is about.
  template <class Task>
  void expect_bounded(executor& on, Task const& task, watched_arrays const& arrays, std::uint64_t pages_read) const {
    constexpr std::uint64_t few = 12;
    test::touched_pages pages{arrays};
    page_counts counts{&pages};
    watched<Task> const work{task, &counts};
    job_description const job = test::threads_job(work);
    test::run_plainly(on, threads_worker<watched<Task>>(), job);
    EXPECT_LE(counts.max, few) << "of the " << hub_pages() << " that a hub's edges take";
    EXPECT_GE(counts.all, pages_read) << counts.items << " items";
    ASSERT_GT(hub_pages(), 4 * few);
  }
};

TEST_P(hubs, is_spread_over_items_of_pagerank) {
  auto const on = executor_for();
  csr const graph = two_hubs();
  pagerank_arrays<pagerank> const arrays{*on, graph, {.sweeps = 2}};
  pagerank const task = arrays.task();
  expect_bounded(*on, task, {bytes_of(task.sources, task.tiles * pagerank::tile / 4)}, 4 * hub_pages());
  EXPECT_EQ(arrays.progress().sweeps, 2U);
}

TEST_P(hubs, is_spread_over_items_of_bfs) {
  auto const on = executor_for();
  csr const graph = two_hubs();
  for (std::uint32_t const source : {strangers, 0U}) {
    bfs_arrays<bfs> const arrays{*on, graph, std::vector{source}};
    bfs const task = arrays.task();
    expect_bounded(*on, task,
                   {bytes_of(task.on.out_targets, graph.edges()), bytes_of(task.on.in_sources, graph.edges())},
                   source == strangers ? 2 * hub_pages() : 0);
    EXPECT_TRUE(verify_bfs(graph, source, arrays.found(0)).ok);
  }
}

/// So many other edges that the hub's are pushed.
TEST_P(hubs, is_spread_over_items_of_bfs_that_pushes_its_edges) {
  auto const on = executor_for();
  constexpr std::uint32_t vertices = 1U << 16;
  edges made = test::star_of(vertices, 0);
  for (std::uint32_t at = 0; at < 16 * vertices; ++at) made.push_back({at % vertices, at % vertices});
  csr const graph = test::graph_of(vertices, made);
  bfs_arrays<bfs> const arrays{*on, graph, std::vector{0U}};
  bfs const task = arrays.task();
  expect_bounded(*on, task, {bytes_of(task.on.out_targets, graph.edges())},
                 vertices * sizeof(std::uint32_t) / test::touched_pages::page_bytes() - 1);
  EXPECT_GT(arrays.progress().pushed, 0U);
  EXPECT_TRUE(verify_bfs(graph, 0, arrays.found(0)).ok);
}

TEST_P(hubs, is_spread_over_items_of_components) {
  auto const on = executor_for();
  for (auto const mirrored : {mirror::none, mirror::all}) {
    csr const graph = two_hubs(mirrored);
    auto const directions = mirrored == mirror::all ? edge_directions::both : edge_directions::one;
    components_arrays<components> const arrays{*on, graph, directions};
    components const task = arrays.task();
    expect_bounded(*on, task, {bytes_of(task.targets, graph.edges())}, hub_pages());
    EXPECT_TRUE(verify_components(graph, arrays.labels(), 1).ok);
  }
}

TEST_P(hubs, is_spread_over_items_of_sssp) {
  auto const on = executor_for();
  csr graph = two_hubs();
  draw_weights(graph, 1, 1);  // equal ones: an item's vertices, of an edge each, lie side by side
  for (std::uint32_t const source : {strangers, 0U}) {
    sssp_arrays<sssp> const arrays{*on, graph, graph.weights, weight_kind::whole, std::vector{source}, 3};
    sssp const task = arrays.task();
    expect_bounded(*on, task, {bytes_of(task.on.targets, graph.edges()), bytes_of(task.on.weights, graph.edges())},
                   source == strangers ? 4 * hub_pages() : 0);
    EXPECT_TRUE(verify_sssp(graph, weight_kind::whole, source, arrays.found(0)).ok);
  }
}

/// The hub's parts, too.
TEST_P(hubs, is_spread_over_items_of_betweenness) {
  auto const on = executor_for();
  csr const graph = two_hubs();
  for (std::uint32_t const source : {strangers, 0U}) {
    betweenness_arrays<betweenness> const arrays{*on, graph, std::vector{source}};
    betweenness const task = arrays.task();
    expect_bounded(*on, task,
                   {bytes_of(task.on.out.neighbours, graph.edges()), bytes_of(task.on.in.neighbours, graph.edges()),
                    bytes_of(task.on.part_sums[0], graph.edges() / betweenness::part)},
                   source == strangers ? 4 * hub_pages() : 0);
    EXPECT_TRUE(verify_betweenness(graph, std::vector{source}, arrays.totals()).ok);
  }
}

TEST_P(hubs, is_spread_over_items_of_kcore) {
  auto const on = executor_for();
  csr const graph = two_hubs();
  kcore_arrays<kcore> const arrays{*on, graph};
  kcore const task = arrays.task();
  expect_bounded(*on, task, {bytes_of(task.on.targets, 2 * graph.edges())}, 2 * hub_pages());
}

TEST_P(hubs, is_spread_over_items_of_triangles) {
  auto const on = executor_for();
  csr const graph = two_hubs();
  triangles_arrays<triangles> const arrays{*on, graph};
  triangles const task = arrays.task();
  expect_bounded(*on, task, {bytes_of(task.targets, arrays.edges()), bytes_of(task.pairs, leaves())},
                 leaves() * sizeof(triangle_pair) / test::touched_pages::page_bytes());
  EXPECT_EQ(arrays.total(), leaves());
}

/// Of an item that all users have rated.
TEST_P(hubs, is_spread_over_items_of_graph_sgd) {
  using sgd = graph_sgd<8>;
  auto const on = executor_for();
  constexpr std::uint32_t items = 16;
  ratings from{.all = {}, .users = leaves() / 4, .items = items};
  for (std::uint32_t user = 0; user < from.users; ++user) {
    from.all.push_back({user, 0, 3});
    if (user % 4 == 0) from.all.push_back({user, 1 + user / 4 % (items - 1), 4});
  }
  host_array<rating> const held_out = hold_out(from, 0.1, 1);
  rating_blocks const blocks = make_rating_blocks(from, 4);
  graph_sgd_arrays const arrays{*on,        blocks.ordered, blocks, held_out,
                                from.users, items,          3,      {.factors = 8, .epochs = 1}};
  job_description const described = arrays.describe();
  sgd task{};
  std::memcpy(static_cast<void*>(&task), described.functor.bytes, sizeof task);
  expect_bounded(*on, task,
                 {bytes_of(task.model.ordered, blocks.ordered.size()), bytes_of(task.model.held_out, held_out.size())},
                 blocks.ordered.size() * sizeof(placed_rating) / test::touched_pages::page_bytes());
}

INSTANTIATE_TEST_SUITE_P(teams, hubs, testing::Values(1, 2),
                         [](auto const& info) { return "of_" + std::to_string(info.param); });

}  // namespace
}  // namespace lull
