// SPDX-License-Identifier: Apache-2.0
// Priorities and quiet: what the next bubble launches.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <lull/tests/host/runtime_recorded.hpp>
#include <lull/tests/support/halt.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

TEST_F(runtime_recorded, a_higher_priority_takes_a_place_and_goes_first) {
  auto const side = make();
  job const a = submit(*side, "a");
  job const b = submit(*side, "b");
  await(a, job_state::placed);
  await(b, job_state::placed);
  job_description urgent = description("urgent");
  urgent.priority = 1;
  job const c = side->submit(urgent);
  int bubbles = 0;
  // Each has its own site, because these bubbles are too short to be harvested again.
  auto const in_time = [&](calls const& wanted) {
    for (calls found; found != wanted;) {
      if (bubbles == 10'000) return false;
      one_bubble(*side, std::to_string(bubbles++).c_str());
      found = seen.take();
      std::this_thread::sleep_for(1ms);
    }
    return true;
  };
  EXPECT_TRUE(in_time({"open_edge", "close_edge", "launch urgent", "launch a"}));
  EXPECT_EQ(b.progress().state, job_state::queued);
  job{c}.cancel();
  EXPECT_TRUE(in_time({"open_edge", "close_edge", "launch b", "launch a"}));  // "a" keeps its place
}

TEST_F(runtime_recorded, a_job_that_is_submitted_paused_takes_no_place_until_it_is_resumed) {
  auto const side = make();
  job_description asleep = description("asleep");
  asleep.is_paused = true;
  asleep.priority = 1;
  job a = side->submit(asleep);
  EXPECT_EQ(a.progress().state, job_state::paused);
  job const b = submit(*side, "b");
  await(b, job_state::placed);
  EXPECT_EQ(calls_of_one_bubble(*side), (calls{"open_edge", "close_edge", "launch b"}));
  EXPECT_EQ(a.progress().state, job_state::paused);
  a.resume();
  await(a, job_state::placed);
  a.cancel();
  EXPECT_TRUE(a.wait(10s));
}

TEST_F(runtime_recorded, while_quiet_nothing_is_enqueued_and_jobs_go_on_afterwards) {
  auto const side = make();
  job const a = submit(*side, "a");
  await(a, job_state::placed);
  one_bubble(*side);
  ASSERT_TRUE(side->pause_all(60s));
  ASSERT_TRUE(side->pause_all(60s));
  seen.take();
  EXPECT_EQ(calls_of_one_bubble(*side), calls{});
  EXPECT_NE(a.progress().state, job_state::placed);
  side->resume_all();
  EXPECT_EQ(calls_of_one_bubble(*side), calls{});  // asked for twice
  side->resume_all();
  side->resume_all();  // one too many
  await(a, job_state::placed);
  EXPECT_EQ(calls_of_one_bubble(*side), (calls{"open_edge", "close_edge", "launch a"}));
}

TEST_F(runtime_recorded, quiet_in_vain_holds_nothing) {
  auto const side = make();
  job const a = submit(*side, "a");
  await(a, job_state::placed);
  halt stands;
  trainer.enqueue(stands.operation());
  one_bubble(*side);  // its worker is enqueued and cannot come yet
  EXPECT_FALSE(side->pause_all(50ms));
  stands.let_go();
  trainer.synchronize();
  await(a, job_state::placed);
  seen.take();
  EXPECT_EQ(calls_of_one_bubble(*side), (calls{"open_edge", "close_edge", "launch a"}));
}

TEST_F(runtime_recorded, a_job_that_ends_while_a_new_graph_gets_it_is_taken_out_of_there_too) {
  runtime_options with = options();
  with.tasks = {type_of<probe_task>()};
  auto const side = make(with);
  job task = submit(*side, "a");
  await(task, job_state::placed);
  seen.hold_exchanges();
  trainer.begin_capture();
  one_bubble(*side);
  threads_graph const graph = trainer.end_capture();
  await_that([&] { return seen.held() != 0; });  // the graph's slot is being filled
  task.cancel();
  // Meanwhile the dispatcher asks for the streams' slots to be emptied.
  await_that([&] { return seen.held() != 1; });
  seen.let_exchanges_go();
  ASSERT_TRUE(task.wait(60s));
  EXPECT_TRUE(seen.all_empty());
}

}  // namespace
}  // namespace lull
