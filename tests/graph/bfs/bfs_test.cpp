// SPDX-License-Identifier: Apache-2.0
// The functor on CPU threads, in teams of one and of four: right by its verifier, and the same bits however it is run.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <lull/graph/bfs/bfs_arrays.hpp>
#include <lull/graph/bfs/verify_bfs.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/host/threads/worker.hpp>
#include <lull/tests/graph/bfs/bfs_run.hpp>
#include <lull/tests/graph/bfs/small_bfs.hpp>
#include <lull/tests/graph/bfs_graphs.hpp>
#include <lull/tests/graph/row_lengths.hpp>
#include <lull/tests/graph/run_in_bubbles.hpp>
#include <lull/tests/graph/stopped.hpp>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lull {
namespace {

using test::bytes_of;
using test::from_rows;
using test::graphs;
using test::job_of;
using test::layers;
using test::named_graph;
using test::path;
using test::star;
using sources = std::vector<std::uint32_t>;

constexpr auto phases = static_cast<std::size_t>(bfs_phase::end);

/// How often phases of each kind ended, so that a test knows that it has reached what it is about.
struct counted_bfs : small_bfs {
  std::array<std::atomic<std::uint64_t>, phases>* ended;

  void advance(position at, auto const& team) const noexcept {
    if (team.rank() == 0) ++(*ended)[static_cast<std::size_t>(on.progress->phase)];
    small_bfs::advance(at, team);
  }
};
static_assert(side_task<counted_bfs> && has_advance<counted_bfs>);

class BfsOnThreads : public testing::TestWithParam<int> {
 protected:
  /// A barrier of four threads on few processors takes long, so those get less to do.
  bool solo() const { return GetParam() == 1; }

  std::unique_ptr<executor> executor_for(int processors = 2) const {
    return make_executor({.kind = executor_kind::threads, .processors = processors, .team_width = GetParam()});
  }

  /// All that an uninterrupted run wrote, without worker and protocol.
  template <class Task>
  std::vector<std::vector<unsigned char>> plainly(csr const& graph, sources const& from, std::uint32_t grain = 1,
                                                  int processors = 2) const {
    auto const threads = executor_for(solo() ? processors : 1);
    bfs_arrays<Task> const arrays{*threads, graph, from};
    test::run_plainly(*threads, threads_worker<Task>(), job_of(arrays.task(), grain));
    return bytes_of(*threads, arrays.written());
  }

  template <class Task>
  void expect_right(named_graph const& one, sources const& from) const {
    auto const threads = executor_for(solo() ? 2 : 1);
    bfs_arrays<Task> const arrays{*threads, one.graph, from};
    test::run_plainly(*threads, threads_worker<Task>(), job_of(arrays.task()));
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
  std::array<std::uint64_t, phases> phases_of(csr const& graph, sources const& from) const {
    auto const threads = executor_for(1);
    bfs_arrays<small_bfs> const arrays{*threads, graph, from};
    std::array<std::atomic<std::uint64_t>, phases> ended{};
    test::run_plainly(*threads, threads_worker<counted_bfs>(), job_of(counted_bfs{arrays.task(), &ended}));
    for (std::size_t search = 0; search < from.size(); ++search) {
      EXPECT_TRUE(verify_bfs(graph, from[search], arrays.found(search)).ok);
    }
    std::array<std::uint64_t, phases> counts{};
    for (std::size_t i = 0; i < phases; ++i) counts[i] = ended[i];
    return counts;
  }
};

TEST_P(BfsOnThreads, IsRight) {
  for (auto const& one : graphs(solo() ? 10 : 1)) {
    auto const last = one.graph.vertices() - 1;
    for (std::uint32_t const source : {0U, last / 2, last}) {
      expect_right<small_bfs>(one, {source});
      expect_right<bfs>(one, {source});
    }
  }
}

TEST_P(BfsOnThreads, SearchesFromOneSourceAfterTheOther) {
  for (auto const& one : graphs(1)) {
    auto const last = one.graph.vertices() - 1;
    expect_right<small_bfs>(one, {last, 0, last / 3, 0});
  }
}

TEST_P(BfsOnThreads, DoesAllKindsOfPhases) {
  csr const graph = from_rows(layers({1, 3, 40, 200, 300, 5, 90, 1, 70}));
  auto const found = phases_of(graph, {0, 1});
  for (std::size_t phase = 0; phase < phases; ++phase) EXPECT_GT(found[phase], 0U) << phase;
}

TEST_P(BfsOnThreads, GoesThroughSmallLevelsAFewAtATime) {
  auto const found = phases_of(from_rows(path(301)), {0});
  auto const of = [&](bfs_phase phase) { return found[static_cast<std::size_t>(phase)]; };
  EXPECT_EQ(of(bfs_phase::small), 300U / small_bfs::small_levels);
  EXPECT_EQ(of(bfs_phase::push) + of(bfs_phase::pull), 0U);
}

TEST_P(BfsOnThreads, SpreadsAHubOverManyItems) {
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
TEST_P(BfsOnThreads, IsRightWhateverTheDegrees) {
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

TEST_P(BfsOnThreads, IsRightInPiecesOfAnySize) {
  csr const graph = generate_kronecker({.scale = solo() ? 9U : 6U});
  expect_right<basic_bfs<4, 1, 32>>({"4", graph}, {1});
  expect_right<basic_bfs<64, 3, 64>>({"64", graph}, {1});
  expect_right<basic_bfs<256, 4, 128>>({"256", graph}, {1});
}

TEST_P(BfsOnThreads, GrainAndBlocksChangeNoBit) {
  for (auto const& [name, graph] : graphs(solo() ? 10 : 1)) {
    sources const from{graph.vertices() / 2, 0};
    auto const expected = plainly<small_bfs>(graph, from);
    for (std::uint32_t const grain : {2U, 7U, 1000U}) {
      EXPECT_EQ(plainly<small_bfs>(graph, from, grain, 3), expected) << name << ", grain " << grain;
    }
    EXPECT_EQ(plainly<small_bfs>(graph, from, 1, 1), expected) << name;
  }
}

TEST_P(BfsOnThreads, PreemptionChangesNoBit) {
  using namespace std::chrono_literals;
  std::vector<named_graph> const some{{"kronecker", generate_kronecker({.scale = solo() ? 8U : 5U})},
                                      {"layers", from_rows(layers({1, 3, 40, 200, 300, 5, 90, 1, 70}))}};
  for (auto const& [name, graph] : some) {
    sources const from{0, 2, 1};
    auto const expected = plainly<small_bfs>(graph, from);
    runtime side{{.executor = {.kind = executor_kind::threads, .processors = 2, .team_width = GetParam()}}};
    bfs_arrays<small_bfs> arrays{executor_of(side), graph, from};
    for (std::uint32_t const grain : {1U, 5U}) {
      EXPECT_GT(test::run_in_chosen_bubbles(side, arrays.task(), grain, 5), 5U) << name << ": too few preemptions";
      EXPECT_EQ(bytes_of(executor_of(side), arrays.written()), expected) << name << ", grain " << grain;
      arrays.reset();
    }
  }
}

TEST_P(BfsOnThreads, NeedsNothingOfWhatItsArraysHeld) {
  for (auto const& one : graphs(1)) {
    sources const from{one.graph.vertices() / 2, 0};
    auto const threads = executor_for(1);
    bfs_arrays<small_bfs> const arrays{*threads, one.graph, from};
    for (auto const& array : arrays.written()) {
      std::vector<unsigned char> const poison(array.array.bytes(), 0xa5);
      if (array.array.name != "progress") threads->write(array.memory, poison.data(), poison.size());
    }
    test::run_plainly(*threads, threads_worker<small_bfs>(), job_of(arrays.task()));
    for (std::size_t search = 0; search < from.size(); ++search) {
      auto const verdict = verify_bfs(one.graph, from[search], arrays.found(search));
      EXPECT_TRUE(verdict.ok) << one.name << ": " << verdict.message;
    }
  }
}

TEST_P(BfsOnThreads, MemoryThatDoesNotSufficeIsRefusedWithTheFigures) {
  auto const small = make_executor({.kind = executor_kind::threads, .memory_limit_bytes = 100'000});
  try {
    bfs_arrays<bfs> const arrays{*small, generate_kronecker({.scale = 10}), sources{3, 4}};
    FAIL();
  } catch (limit_error const& refused) {
    std::string const message = refused.what();
    EXPECT_NE(message.find("1024 vertices and 32768 edges from 2 sources"), std::string::npos) << message;
    EXPECT_NE(message.find("memory limit of 100000"), std::string::npos) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Teams, BfsOnThreads, testing::Values(1, 4),
                         [](auto const& info) { return "Of" + std::to_string(info.param); });

}  // namespace
}  // namespace lull
