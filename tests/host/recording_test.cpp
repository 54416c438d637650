// SPDX-License-Identifier: Apache-2.0
// What the runtime asks of a machine, in which order, and when it asks nothing: the machine records it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/report/bubble_summary.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tests/host/runtime_recorded.hpp>
#include <lull/tests/support/cursor_state.hpp>
#include <lull/tests/support/halt.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

TEST_F(runtime_recorded, at_close_the_worker_comes_behind_both_edges) {
  auto const side = make();
  job const task = submit(*side, "a");
  await(task, job_state::placed);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(calls_of_one_bubble(*side), (calls{"open_edge", "close_edge", "launch a"}));
  bubble_id const id = side->open(&trainer, site{"wait"});
  EXPECT_EQ(seen.take(), (calls{"open_edge"}));
  side->close(id, &trainer);
  EXPECT_EQ(seen.take(), (calls{"close_edge", "launch a"}));
}

TEST_F(runtime_recorded, the_successor_comes_behind_the_job_at_hand) {
  auto const side = make();
  job const a = submit(*side, "a");
  job const b = submit(*side, "b");
  job const waiting = submit(*side, "c");
  await(a, job_state::placed);
  await(b, job_state::placed);
  EXPECT_EQ(calls_of_one_bubble(*side), (calls{"open_edge", "close_edge", "launch a", "launch b"}));
  job{a}.cancel();
  await(waiting, job_state::placed);
  calls const later = calls_of_one_bubble(*side);
  ASSERT_EQ(later.size(), 4U);
  EXPECT_TRUE(std::is_permutation(later.begin() + 2, later.end(), calls{"launch b", "launch c"}.begin()));
}

TEST_F(runtime_recorded, at_open_the_worker_comes_before_the_close) {
  auto const side = make(options(runtime_mode::on, launch_time::at_open));
  job const a = submit(*side, "a");
  job const b = submit(*side, "b");
  await(a, job_state::placed);
  await(b, job_state::placed);
  EXPECT_EQ(calls_of_one_bubble(*side),
            (calls{"open_edge", "launch a for 200 us", "launch b for 200 us", "close_edge"}));
}

TEST_F(runtime_recorded, a_site_whose_host_is_late_is_launched_at_open_by_itself) {
  seen.launches_behind = &trainer;  // launched at close, a worker comes when the bubble is over
  auto const side = make();
  job const task = submit(*side, "a");
  await(task, job_state::placed);
  calls const at_close{"open_edge", "close_edge", "launch a"};
  calls const at_open{"open_edge", "launch a for 200 us", "close_edge"};
  calls last = at_close;
  int bubbles = 0;
  // Once the site's length is known, a bubble that is likely over gets no worker.
  for (; bubbles < 1'000 && last != at_open; ++bubbles) {
    bubble_id const id = side->open(&trainer, site{"late"});
    trainer.synchronize();
    std::this_thread::sleep_for(std::chrono::microseconds{200});  // a shorter one would be passed over
    side->close(id, &trainer);
    last = seen.take();
    await_that(
        [&] { return !side->take_bubbles().empty(); });  // its worker is out, too: it would work in the next bubble
  }
  EXPECT_EQ(last, at_open);
  EXPECT_GE(bubbles, 4) << "a site must be known first";
  seen.launches_behind = nullptr;
  EXPECT_EQ(calls_of_one_bubble(*side), at_close) << "another site is as it was";
}

TEST_F(runtime_recorded, a_site_where_every_chunk_is_handed_back_is_left_alone) {
  auto const side = make();
  job task = submit_endless(*side);
  await(task, job_state::placed);
  for (int i = 0; i < 200 && side->counts()[counted::all_handed_back] == 0; ++i) {
    {
      bubble const idle{*side, &trainer, site{"brief"}};
      trainer.enqueue([] { std::this_thread::sleep_for(20ms); });
    }
    trainer.synchronize();
  }
  EXPECT_EQ(side->counts()[counted::all_handed_back], 1U);
  seen.take();
  task.cancel();
  EXPECT_TRUE(task.wait(120s));
}

TEST_F(runtime_recorded, a_longer_gap_and_a_wait_are_asked_of_the_close) {
  struct expected {
    launch_time launch;
    closing close;
    calls order;
  };
  expected const all[] = {
      {launch_time::at_close, {false, 700ns}, {"open_edge", "close_edge and 700 ns", "launch a"}},
      {launch_time::at_close, {true, 0ns}, {"open_edge", "close_edge and a wait", "launch a"}},
      {launch_time::at_open, {false, 700ns}, {"open_edge", "launch a for 200 us", "close_edge and 700 ns"}},
      {launch_time::at_open, {true, 0ns}, {"open_edge", "launch a for 200 us", "close_edge and a wait"}},
  };
  for (expected const& each : all) {
    auto const side = make(options(runtime_mode::on, each.launch, each.close));
    job const task = submit(*side, "a");
    await(task, job_state::placed);
    EXPECT_EQ(calls_of_one_bubble(*side), each.order);
  }
}

TEST_F(runtime_recorded, without_a_job_nothing_is_asked) {
  auto const side = make();
  for (int i = 0; i < 100; ++i) one_bubble(*side);
  EXPECT_EQ(seen.take(), calls{});
  job task = submit(*side, "a");
  await(task, job_state::placed);
  EXPECT_FALSE(calls_of_one_bubble(*side).empty());
  task.cancel();
  EXPECT_TRUE(task.wait(120s));
  for (int i = 0; i < 100; ++i) one_bubble(*side);
  EXPECT_EQ(seen.take(), calls{});
  EXPECT_GE(side->counts()[counted::no_job], 200U);
}

TEST_F(runtime_recorded, a_paused_job_is_no_job) {
  auto const side = make();
  job task = submit(*side, "a");
  await(task, job_state::placed);
  task.pause();
  await(task, job_state::paused);
  EXPECT_EQ(calls_of_one_bubble(*side), calls{});
  task.resume();
  await(task, job_state::placed);
  EXPECT_EQ(calls_of_one_bubble(*side), (calls{"open_edge", "close_edge", "launch a"}));
}

TEST_F(runtime_recorded, while_the_stream_is_captured_nothing_is_enqueued) {
  auto const side = make();
  job const task = submit(*side, "a");
  await(task, job_state::placed);
  seen.capturing = true;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(calls_of_one_bubble(*side), calls{});
  EXPECT_EQ(side->counts()[counted::not_captured], 10U);
  seen.capturing = false;
  EXPECT_EQ(calls_of_one_bubble(*side), (calls{"open_edge", "close_edge", "launch a"}));
}

TEST_F(runtime_recorded, observe_places_timed_edges_and_no_worker) {
  auto const side = make(options(runtime_mode::observe, launch_time::at_close, std::nullopt));
  job const task = submit(*side, "a");
  await(task, job_state::off);
  EXPECT_EQ(calls_of_one_bubble(*side), (calls{"open_edge timed", "close_edge timed"}));
}

TEST_F(runtime_recorded, off_asks_nothing_by_option_and_by_the_environment) {
  auto const side = make(options(runtime_mode::off));
  job const task = submit(*side, "a");
  await(task, job_state::off);
  EXPECT_EQ(calls_of_one_bubble(*side), calls{});
  ASSERT_EQ(setenv("LULL", "off", 1), 0);
  auto const by_environment = make();
  unsetenv("LULL");
  job const other = submit(*by_environment, "b");
  await(other, job_state::off);
  EXPECT_EQ(by_environment->mode(), runtime_mode::off);
  EXPECT_EQ(calls_of_one_bubble(*by_environment), calls{});
}

TEST_F(runtime_recorded, an_armed_ahead_out_of_range_is_refused) {
  auto with = options();
  for (auto const wrong : {std::chrono::nanoseconds::max(), std::chrono::nanoseconds{1'000s} + 1ns, -1ns,
                           std::chrono::nanoseconds::min()}) {
    with.tuning.armed_ahead = wrong;
    EXPECT_THROW(make(with), usage_error) << wrong.count();
  }
  with.tuning.armed_ahead = 1'000s;
  auto const side = make(with);
  job const task = submit(*side, "a");
  await(task, job_state::placed);
  EXPECT_EQ(calls_of_one_bubble(*side), (calls{"open_edge", "close_edge", "launch a"}));
}

TEST_F(runtime_recorded, a_shortest_bubble_out_of_range_is_refused) {
  auto with = options();
  for (auto const wrong :
       {std::chrono::nanoseconds::max(), std::chrono::nanoseconds{1s} + 1ns, -1ns, std::chrono::nanoseconds::min()}) {
    with.tuning.min_bubble = wrong;
    EXPECT_THROW(make(with), usage_error) << wrong.count();
  }
  with.tuning.min_bubble = 1s;
  EXPECT_EQ(make(with)->summary().settings().harvest.worth, 1s);
}

TEST_F(runtime_recorded, a_rest_out_of_range_is_refused) {
  auto with = options();
  for (auto const wrong : {1ms + 1ns, -1ns}) {
    with.tuning.rest_before_close = wrong;
    EXPECT_THROW(make(with), usage_error) << wrong.count();
  }
}

TEST_F(runtime_recorded, sites_of_bubbles_below_the_shortest_are_passed_over) {
  auto with = options();
  with.tuning.min_bubble = 1s;
  auto const side = make(with);
  job const task = submit(*side, "a");
  await(task, job_state::placed);
  for (int i = 0; i < 1000 && side->counts()[counted::too_short] == 0; ++i) {
    {
      bubble const idle{*side, &trainer, site{"wait"}};
      trainer.enqueue([] { std::this_thread::sleep_for(1ms); });  // longer than what is harvested without a setting
    }
    trainer.synchronize();
  }
  EXPECT_GT(side->counts()[counted::too_short], 0U);
}

TEST_F(runtime_recorded, a_nested_bubble_opens_and_closes_nothing) {
  auto const side = make();
  job const task = submit(*side, "a");
  await(task, job_state::placed);
  {
    bubble const outer{*side, &trainer, site{"outer"}};
    EXPECT_EQ(seen.take(), (calls{"open_edge"}));
    { bubble const inner{*side, &trainer, site{"inner"}}; }
    EXPECT_EQ(seen.take(), calls{});
  }
  EXPECT_EQ(seen.take(), (calls{"close_edge", "launch a"}));
  EXPECT_EQ(side->counts()[counted::nested], 1U);
}

TEST_F(runtime_recorded, nobody_waits_for_the_jobs_of_a_machine_that_is_lost) {
  auto const side = make();
  job task = submit(*side, "a");
  await(task, job_state::placed);
  seen.lost = true;
  seen.exchanges_throw = true;
  task.pause();
  EXPECT_TRUE(task.wait(120s));
  EXPECT_EQ(task.progress().state, job_state::failed);
  seen.exchanges_throw = false;
}

TEST_F(runtime_recorded, a_log_callback_that_throws_turns_nothing_off) {
  auto with = options(runtime_mode::on);
  with.log = [](std::string_view) { throw std::runtime_error{"the program's own"}; };
  runtime side{std::make_unique<recording_executor>(seen), with};
  std::vector<std::unique_ptr<threads_stream>> streams;
  job const task = submit(side, "a");
  await(task, job_state::placed);
  for (int i = 0; i < 17; ++i) {  // one more than there are gates, which is worth a line
    streams.push_back(std::make_unique<threads_stream>());
    side.close(side.open(streams.back().get(), site{"wait"}), streams.back().get());
  }
  EXPECT_EQ(side.mode(), runtime_mode::on);
}

TEST_F(runtime_recorded, a_close_on_another_stream_is_not_taken_for_the_bubbles_own) {
  auto const side = make();
  job const task = submit(*side, "a");
  await(task, job_state::placed);
  threads_stream other;
  bubble_id const id = side->open(&trainer, site{"wait"});
  side->close(id, &other);
  EXPECT_EQ(seen.take(), (calls{"open_edge"}));
  EXPECT_EQ(side->counts()[counted::unmatched], 1U);
  side->close(id, &trainer);
  EXPECT_EQ(seen.take(), (calls{"close_edge", "launch a"}));
}

TEST_F(runtime_recorded, a_report_tells_how_long_workers_stood_on_the_device_before_the_opening) {
  for (bool const ahead : {true, false}) {
    auto with = options();
    if (!ahead) with.tuning.armed_ahead = 0ns;
    auto const side = make(with);
    job const task = submit(*side, "a");
    await(task, job_state::placed);
    halt stands;
    trainer.enqueue(stands.operation());
    auto const asked = std::chrono::steady_clock::now();
    one_bubble(*side);
    auto const enqueued = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(5ms);
    auto const opens = std::chrono::steady_clock::now();
    stands.let_go();
    trainer.synchronize();
    std::vector<bubble_report> told;
    await_that([&] { return !(told = side->take_bubbles()).empty(); });
    ASSERT_EQ(told[0].waited.has_value(), ahead);
    if (!ahead) continue;
    EXPECT_GE(*told[0].waited, opens - enqueued);
    EXPECT_LE(*told[0].waited, std::chrono::steady_clock::now() - asked);
  }
}

TEST_F(runtime_recorded, asking_for_a_stream_takes_no_gate) {
  auto const side = make();
  job const task = submit(*side, "a");
  await(task, job_state::placed);
  std::vector<std::unique_ptr<threads_stream>> streams;
  for (int i = 0; i < 40; ++i) {
    streams.push_back(std::make_unique<threads_stream>());
    EXPECT_TRUE(side->ready(streams.back().get()));
  }
  EXPECT_EQ(calls_of_one_bubble(*side), (calls{"open_edge", "close_edge", "launch a"}));
}

}  // namespace
}  // namespace lull
