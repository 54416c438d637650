// SPDX-License-Identifier: Apache-2.0
// Steps with bubbles in captured graphs: under a bound on slowdown, where a replay asks no host and its side work is
// withheld all the same; and with bubbles of the stream between replays.
#include <chrono>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tests/support/cursor_state.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

TEST(captured_steps, that_are_withheld_have_no_side_work) {
  threads_stream trainer;
  runtime_options bounded{.executor = {.kind = executor_kind::threads, .processors = 2}};
  bounded.max_slowdown = 0.01;
  bounded.tasks = {type_of<probe_task>()};
  runtime side{bounded};
  trainer.begin_capture();
  for (int each = 0; each < 3; ++each) {
    bubble const idle{side, &trainer, site{"wait"}};
    trainer.enqueue([] { std::this_thread::sleep_for(3ms); });
  }
  threads_graph const graph = trainer.end_capture();
  probe_arrays arrays{{1U << 20}};
  probe_task slow = arrays.task();
  slow.polls = 256;
  job work = side.submit(slow);
  await_that([&] { return work.progress().state == job_state::placed; });
  auto const ran_in_a_replay = [&] {
    trainer.launch(graph);
    trainer.synchronize();
    await_that([&] { return executor_of(side).workers_done(); });
    std::uint64_t items = 0;
    std::size_t found = 0;
    while (found < 3) {
      std::this_thread::sleep_for(1ms);
      for (bubble_report const& each : side.take_bubbles()) {
        items += each.record().items;
        ++found;
      }
    }
    return items != 0;
  };
  EXPECT_FALSE(ran_in_a_replay()) << "before the first step";
  int ran = 0;
  for (int step = 0; step < 60; ++step) {
    std::uint64_t const before = side.steps().report().withheld;
    side.step(&trainer);
    bool const is_withheld = side.steps().report().withheld != before;
    bool const has_run = ran_in_a_replay();  // a worker may come too late for a bubble
    EXPECT_FALSE(has_run && is_withheld) << step;
    ran += has_run ? 1 : 0;
  }
  EXPECT_GT(ran, 0);
  side.steps().bound_slowdown(0);
  side.step(&trainer);
  bool runs = false;
  for (int replay = 0; replay < 100 && !runs; ++replay) runs = ran_in_a_replay();
  EXPECT_TRUE(runs);
  work.cancel();
  EXPECT_TRUE(work.wait(60s));
}

TEST(captured_steps, with_bubbles_of_the_stream_between_them_report_all) {
  threads_stream trainer;
  runtime side{{.executor = {.kind = executor_kind::threads, .processors = 2}, .tasks = {type_of<probe_task>()}}};
  probe_arrays arrays{{1U << 24}};  // more than these bubbles need
  job work = side.submit(arrays.task());
  auto const step = [&] {
    bubble const idle{side, &trainer, site{"wait"}};
    trainer.enqueue([] { std::this_thread::sleep_for(400us); });
  };
  trainer.begin_capture();
  for (int each = 0; each < 3; ++each) step();
  threads_graph const graph = trainer.end_capture();
  for (int turn = 0; turn < 50; ++turn) {
    trainer.launch(graph);
    step();
    trainer.synchronize();
  }
  std::size_t found = 0;
  EXPECT_TRUE(within_time([&] { return (found += side.take_bubbles().size()) >= 199; })) << found << " of 200 bubbles";
  EXPECT_EQ(side.counts()[counted::dropped], 0U);
  work.cancel();
  EXPECT_TRUE(work.wait(60s));
}

}  // namespace
}  // namespace lull
