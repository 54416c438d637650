// SPDX-License-Identifier: Apache-2.0
// Bubbles in captured graphs, on CPU threads: what replays run, what control may do between and during them, and which
// object may outlive which.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/report/bubble_summary.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tasks/synthetic.hpp>
#include <lull/tests/support/cursor_state.hpp>
#include <lull/tests/support/log_lines.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class captured : public testing::Test {
 protected:
  std::unique_ptr<runtime> make(runtime_mode mode = runtime_mode::on,
                                std::chrono::nanoseconds min_bubble = default_min_bubble) {
    return std::make_unique<runtime>(runtime_options{.executor = {.kind = executor_kind::threads, .processors = 2},
                                                     .mode = mode,
                                                     .tasks = {type_of<probe_task>()},
                                                     .log = log_.function(),
                                                     .tuning = {.min_bubble = min_bubble}});
  }
  /// A step of three bubbles; `gap` is the trainer's own wait.
  threads_graph capture(runtime& side, std::chrono::microseconds gap, std::string const& name = "step") {
    trainer.begin_capture();
    for (int i = 0; i < 3; ++i) {
      bubble const idle{side, &trainer, site{name + std::to_string(i)}};
      trainer.enqueue([gap] { std::this_thread::sleep_for(gap); });
    }
    return trainer.end_capture();
  }
  static bool is_over(job const& task) {
    job_state const s = task.progress().state;
    return s == job_state::finished || s == job_state::failed || s == job_state::cancelled;
  }
  /// Replays until `ended`, each replay to its end before the next.
  void replay(std::vector<threads_graph> const& graphs, std::function<bool()> const& ended, int most = 1'000'000) {
    for (int i = 0; i < most && !ended(); ++i) {
      trainer.launch(graphs[static_cast<std::size_t>(i) % graphs.size()]);
      trainer.synchronize();
    }
  }
  /// Returns how many bubbles were passed over in further replays. Waits for their workers, otherwise ever more would
  /// wait.
  std::uint64_t short_bubbles(runtime& side, threads_graph const& graph) {
    replay(
        {graph}, [] { return false; }, 20);
    await_that([&] { return executor_of(side).workers_done(); });
    return side.counts()[counted::too_short];
  }
  static bool until(std::function<bool()> const& so) {
    auto const give_up = std::chrono::steady_clock::now() + long_enough;
    while (!so()) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::sleep_for(200us);
    }
    return true;
  }
  static std::uint64_t ran(probe_arrays const& arrays) {
    std::uint64_t all = 0;
    for (std::uint32_t const runs : arrays.runs) all += runs;
    return all;
  }

  threads_stream trainer;
  test::log_lines log_;
};

TEST_F(captured, a_job_is_done_in_replays_exactly_once) {
  auto const side = make();
  std::vector<threads_graph> const graphs{capture(*side, 100us, "a"), capture(*side, 50us, "b")};
  EXPECT_EQ(side->counts()[counted::captured], 6U);
  EXPECT_EQ(side->counts()[counted::opened], 0U);
  probe_arrays arrays{{400, 1, 0, 17, 3000, 2}};
  job const task = side->submit(arrays.task());  // between two replays, after the capture
  replay(graphs, [&] { return is_over(task); });
  EXPECT_EQ(task.progress().state, job_state::finished);
  EXPECT_STREQ(arrays.wrong(), nullptr);
}

TEST_F(captured, control_during_ten_thousand_replays_loses_nothing) {
  auto const side = make();
  std::vector<threads_graph> const graphs{capture(*side, 30us, "a"), capture(*side, 10us, "b")};
  std::atomic<bool> controlled{false};
  std::uint64_t finished = 0;
  std::thread controller{[&] {
    for (int round = 0; round < 12; ++round) {
      probe_arrays arrays{{300, 40, 2000, 1}};
      job task = side->submit(arrays.task());
      task.pause();
      if (round % 3 == 0) {
        EXPECT_TRUE(side->pause_all(long_enough));
        std::uint64_t const before = ran(arrays);
        std::this_thread::sleep_for(1ms);
        EXPECT_EQ(ran(arrays), before);
        side->resume_all();
      }
      task.resume();
      std::this_thread::sleep_for(std::chrono::milliseconds{round});
      if (round % 4 == 3) task.cancel();
      EXPECT_TRUE(task.wait(long_enough));
      std::uint64_t const items = task.progress().items;
      EXPECT_EQ(items, ran(arrays));  // no block is inside; the arrays go
      if (task.progress().state == job_state::finished) {
        EXPECT_STREQ(arrays.wrong(), nullptr);
        ++finished;
      }
    }
    controlled = true;
  }};
  int replays = 0;
  replay(graphs, [&] { return ++replays > 10'000 && controlled; });
  controller.join();
  EXPECT_GE(finished, 9U);
}

TEST_F(captured, the_runtime_may_go_while_graphs_are_replayed) {
  probe_arrays arrays{{1u << 20}};
  auto graph = std::make_unique<threads_graph>();
  std::uint64_t before = 0;
  {
    auto const side = make();
    *graph = capture(*side, 50us);
    job const task = side->submit(arrays.task());
    while (task.progress().phases == 0)
      replay(
          {*graph}, [] { return false; }, 10);
    trainer.launch(*graph);  // and one is on its way while the runtime goes
  }
  trainer.synchronize();
  before = ran(arrays);
  replay(
      {*graph}, [] { return false; }, 200);
  EXPECT_EQ(ran(arrays), before);
  graph.reset();
  auto const next = make();  // frees what the first has left
  probe_arrays again{{300}};
  threads_graph const other = capture(*next, 50us);
  job const task = next->submit(again.task());
  replay({other}, [&] { return is_over(task); });
  EXPECT_STREQ(again.wrong(), nullptr);
}

TEST_F(captured, a_clone_is_replayed_when_the_first_graph_is_gone) {
  auto const side = make();
  auto first = std::make_unique<threads_graph>(capture(*side, 50us));
  threads_graph const clone = *first;
  first.reset();
  probe_arrays arrays{{500, 20}};
  job const task = side->submit(arrays.task());
  replay({clone}, [&] { return is_over(task); });
  EXPECT_STREQ(arrays.wrong(), nullptr);
}

TEST_F(captured, ten_thousand_captures_one_after_another_are_all_told) {
  auto const side = make();
  probe_arrays arrays{{5000}};
  job const task = side->submit(arrays.task());
  for (int i = 0; i < 10'000; ++i) {
    replay(
        {capture(*side, 0us)}, [] { return false; }, 1);
    // Here hundreds of captures take less time than one of the dispatcher's looks. The dispatcher needs several looks
    // to free gates, and no worker may work then.
    if (i % 200 != 199) continue;
    ASSERT_TRUE(until([&] {
      return side->counts()[counted::replayed] == 3U * static_cast<unsigned>(i + 1) &&
             executor_of(*side).workers_done();
    }));
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_TRUE(until([&] { return side->counts()[counted::replayed] == 30'000; }));
  runtime_counts const counts = side->counts();
  EXPECT_EQ(counts[counted::not_captured], 0U);
  EXPECT_EQ(counts[counted::dropped], 0U);
  bubble_summary const sum = side->summary();
  EXPECT_EQ(sum.seen(), 30'000U);
  EXPECT_EQ(sum.gates().size(), 1U);
  EXPECT_EQ(sum.sites().size(), 3U);
  for (int i = 0; i < 10'000 && !is_over(task); ++i)
    replay(
        {capture(*side, 50us)}, [&] { return is_over(task); }, 100);
  EXPECT_STREQ(arrays.wrong(), nullptr);
}

TEST_F(captured, bubbles_of_256_graphs_at_once_are_all_told) {
  auto const side = make();
  std::vector<threads_graph> graphs;
  for (int i = 0; i < 256; ++i) graphs.push_back(capture(*side, 0us, "graph" + std::to_string(i) + "."));
  for (int round = 0; round < 3; ++round) {
    replay(
        graphs, [] { return false; }, 256);
    EXPECT_TRUE(until([&] { return side->counts()[counted::replayed] == (round + 1) * 256U * 3U; }));
  }
  EXPECT_EQ(side->counts()[counted::dropped], 0U);
  EXPECT_EQ(side->summary().seen(), 3U * 256U * 3U);
}

TEST_F(captured, what_is_known_of_a_site_outlives_its_graph) {
  auto const side = make();
  probe_arrays arrays{{1u << 20}};
  job const task = side->submit(arrays.task());
  {
    threads_graph const first = capture(*side, 0us);
    ASSERT_TRUE(until([&] { return short_bubbles(*side, first) >= 100; }));
  }
  // Learning the site again would take eight bubbles. On a busy computer bubbles may be longer for a while.
  auto const is_known_to_another = [&] {
    threads_graph const again = capture(*side, 0us);
    std::uint64_t const before = side->counts()[counted::too_short];
    for (std::uint64_t round = 1; round <= 5; ++round) {
      std::uint64_t const replayed = side->counts()[counted::replayed];
      replay(
          {again}, [] { return false; }, 1);
      if (!until(
              [&] { return side->counts()[counted::replayed] >= replayed + 3 && executor_of(*side).workers_done(); }))
        return false;
    }
    return side->counts()[counted::too_short] >= before + 6;
  };
  EXPECT_TRUE(until(is_known_to_another));
}

TEST_F(captured, graphs_beyond_the_gates_are_counted_and_hold_nothing) {
  auto const side = make();
  std::vector<threads_graph> graphs;
  for (int i = 0; i < 1030; ++i) graphs.push_back(capture(*side, 0us));
  EXPECT_EQ(side->counts()[counted::captured], 1024U * 3U);
  EXPECT_EQ(side->counts()[counted::not_captured], 6U * 3U);
  EXPECT_EQ(graphs.back().size(), 3U);
  replay(
      {graphs.front(), graphs.back()}, [] { return false; }, 10);
}

TEST_F(captured, replays_and_plain_bubbles_share_a_job) {
  auto const side = make();
  threads_graph const graph = capture(*side, 30us);
  probe_arrays arrays{{2000, 5, 2000}};
  job const task = side->submit(arrays.task());
  for (int i = 0; i < 1'000'000 && !is_over(task); ++i) {
    trainer.launch(graph);
    {
      bubble const idle{*side, &trainer, site{"between"}};
      trainer.enqueue([] { std::this_thread::sleep_for(100us); });
    }
    trainer.synchronize();
  }
  EXPECT_STREQ(arrays.wrong(), nullptr);
}

TEST_F(captured, a_type_that_was_not_enabled_waits_for_another_capture) {
  auto const side = make();
  threads_graph const graph = capture(*side, 50us);
  float sink = 0;
  job const task = side->submit(compute_task{&sink, 20, 1, 8}, "not enabled");
  replay(
      {graph}, [] { return false; }, 100);
  EXPECT_FALSE(is_over(task));
  threads_graph const again = capture(*side, 50us);
  replay({again}, [&] { return is_over(task); });
  EXPECT_EQ(task.progress().state, job_state::finished);
}

TEST_F(captured, without_a_task_type_the_graph_holds_nothing_of_ours) {
  runtime side{{.executor = {.kind = executor_kind::threads, .processors = 2}}};
  EXPECT_EQ(capture(side, 0us).size(), 3U);  // the trainer's own
  EXPECT_EQ(side.counts()[counted::not_captured], 3U);
  runtime off{{.executor = {.kind = executor_kind::threads, .processors = 2},
               .mode = runtime_mode::off,
               .tasks = {type_of<probe_task>()}}};
  EXPECT_EQ(capture(off, 0us).size(), 3U);
}

TEST_F(captured, observed_replays_are_counted_and_run_nothing) {
  auto const side = make(runtime_mode::observe);
  probe_arrays arrays{{100}};
  job const task = side->submit(arrays.task());
  threads_graph const graph = capture(*side, 1ms, "wait");
  EXPECT_EQ(graph.size(), 9U);
  replay(
      {graph}, [] { return false; }, 50);
  std::vector<bubble_report> found;
  for (int looks = 0; looks < 100'000 && found.size() < 150; ++looks) {
    for (auto& one : side->take_bubbles()) found.push_back(one);
    std::this_thread::sleep_for(100us);
  }
  ASSERT_EQ(found.size(), 150U);
  EXPECT_EQ(side->counts()[counted::replayed], 150U);
  EXPECT_EQ(side->counts()[counted::dropped], 0U);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].site, "wait" + std::to_string(i % 3));
    EXPECT_GE(found[i].length, 1ms);
    EXPECT_EQ(found[i].record().chunks, 0U);
  }
  EXPECT_EQ(ran(arrays), 0U);
}

TEST_F(captured, bubbles_that_are_too_short_are_skipped_by_the_workers) {
  auto const side = make();
  threads_graph const graph = capture(*side, 0us);
  probe_arrays arrays{{1u << 20}};
  job const task = side->submit(arrays.task());
  EXPECT_TRUE(until([&] { return short_bubbles(*side, graph) >= 100; }));
}

TEST_F(captured, bubbles_below_another_shortest_are_skipped_too) {
  auto const side = make(runtime_mode::on, 1s);
  threads_graph const graph = capture(*side, 300us);
  probe_arrays arrays{{1u << 20}};
  job const task = side->submit(arrays.task());
  EXPECT_TRUE(until([&] { return short_bubbles(*side, graph) >= 10; }));
}

TEST_F(captured, wrong_opens_and_closes_are_counted_and_harmless) {
  auto const side = make();
  threads_stream other;
  trainer.begin_capture();
  bubble_id const id = side->open(&trainer, site{"a"});
  EXPECT_EQ(side->open(&trainer, site{"b"}).bubble, 0U);  // nested
  side->close(id, &other);                                // of no capture
  side->close(id, &trainer);
  side->close(id, &trainer);  // twice
  side->open(&trainer, site{"c"});
  bubble_id const second = side->open(&trainer, site{"c"});  // the first was never closed
  side->close(second, &trainer);
  trainer.enqueue([] {});
  threads_graph graph = trainer.end_capture();
  side->close(id, &trainer);  // after the capture
  runtime_counts const counts = side->counts();
  EXPECT_EQ(counts[counted::nested], 1U);
  EXPECT_EQ(counts[counted::unmatched], 3U);
  EXPECT_EQ(counts[counted::abandoned], 1U);
  EXPECT_EQ(counts[counted::captured], 3U);
  EXPECT_EQ(graph.size(), 7U);
  replay(
      {graph}, [] { return false; }, 100);
  graph = {};
  side->close(id, &trainer);  // after the graph
}

TEST_F(captured, a_bubble_that_a_capture_cuts_in_two_is_given_up) {
  auto const side = make();
  probe_arrays arrays{{3000}};
  job const task = side->submit(arrays.task());
  await_that([&] { return side->ready(&trainer); });
  bubble_id const outside = side->open(&trainer, site{"cut"});
  trainer.begin_capture();
  side->close(outside, &trainer);  // would close the replays' bubbles
  bubble_id const inside = side->open(&trainer, site{"in"});
  trainer.enqueue([] {});
  threads_graph const graph = trainer.end_capture();
  side->close(inside, &trainer);
  EXPECT_EQ(side->counts()[counted::unmatched], 2U);
  replay(
      {graph}, [] { return false; }, 3);  // opened and never closed: ends with the lease or at the next opening
  for (int i = 0; i < 1'000'000 && !is_over(task); ++i) {
    {
      bubble const idle{*side, &trainer, site{"cut"}};
      trainer.enqueue([] { std::this_thread::sleep_for(200us); });
    }
    trainer.synchronize();
  }
  EXPECT_EQ(side->counts()[counted::abandoned], 1U);
  EXPECT_STREQ(arrays.wrong(), nullptr);
}

TEST_F(captured, a_job_is_alone_in_graphs_and_the_next_comes_at_the_next_bubble) {
  auto const side = make();
  threads_graph const graph = capture(*side, 50us);
  std::vector<std::unique_ptr<probe_arrays>> arrays;
  std::vector<job> jobs;
  for (int i = 0; i < 5; ++i) {
    arrays.push_back(std::make_unique<probe_arrays>(std::vector<std::uint64_t>{300, 7, 100}));
    job_description what = describe(arrays.back()->task());
    what.priority = i % 2;
    jobs.push_back(side->submit(what));
  }
  replay({graph}, [&] { return side->wait_all(0ns); });
  for (auto const& each : arrays) EXPECT_STREQ(each->wrong(), nullptr);
}

}  // namespace
}  // namespace lull
