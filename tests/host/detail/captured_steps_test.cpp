// SPDX-License-Identifier: Apache-2.0
// Bubbles in captured graphs under a bound on slowdown: a replay asks no host, and its side work is withheld all the
// same.
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

}  // namespace
}  // namespace lull
