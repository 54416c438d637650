// SPDX-License-Identifier: Apache-2.0
// Errors of the machine, in calls of the trainer and of the dispatcher: harvesting turns off, and training continues.
#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/runtime.hpp>
#include <lull/tests/host/runtime_recorded.hpp>
#include <lull/tests/support/halt.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class runtime_failing : public runtime_recorded, public testing::WithParamInterface<char const*> {};

TEST_P(runtime_failing, an_error_of_the_machine_turns_it_off_and_stays_inside) {
  auto const side = make(options(runtime_mode::on, launch_time::at_close, closing{}));
  job task = submit(*side, "a");
  await(task, job_state::placed);
  seen.throws_in = GetParam();
  one_bubble(*side);
  seen.take();
  EXPECT_EQ(side->mode(), runtime_mode::off);
  ASSERT_EQ(log_of(1).size(), 1U);
  EXPECT_NE(log()[0].find("harvesting is off"), std::string::npos);
  EXPECT_NE(log()[0].find(std::string{GetParam()} + " failed: broken (700)"), std::string::npos) << log()[0];
  EXPECT_NE(side->why_off().find(std::string{GetParam()} + " failed: broken (700)"), std::string::npos);
  seen.throws_in.clear();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(calls_of_one_bubble(*side), calls{});
  EXPECT_EQ(submit(*side, "b").progress().state, job_state::off) << "it will never run";
  task.cancel();
  EXPECT_TRUE(task.wait(120s));
}

/// The edge is enqueued, and only that id closes it.
TEST_F(runtime_recorded, a_bubble_keeps_its_id_where_opening_it_fails_after_its_edge) {
  auto const side = make(options(runtime_mode::on, launch_time::at_open));
  job const task = submit(*side, "a");
  await(task, job_state::placed);
  seen.take();
  seen.throws_in = "launch";
  bubble_id const id = side->open(&trainer, site{"wait"});
  EXPECT_EQ(seen.take().front(), "open_edge");
  EXPECT_EQ(side->mode(), runtime_mode::off);
  ASSERT_NE(id.bubble, 0U);
  side->close(id, &trainer);
  EXPECT_EQ(seen.take(), calls{"close_edge"});
}

INSTANTIATE_TEST_SUITE_P(each, runtime_failing, testing::Values("open_edge", "close_edge", "launch"),
                         [](auto const& info) { return std::string{info.param}; });

#if !defined(__SANITIZE_ADDRESS__)  // the memory that an edge may still touch is left alone, which counts as a leak
TEST_F(runtime_recorded, an_edge_that_was_never_enqueued_does_not_keep_the_runtime) {
  job task;
  {
    auto const side = make();
    task = submit(*side, "a");
    await(task, job_state::placed);
    seen.throws_in = "open_edge";
    seen.throws = record::moment::before;
    one_bubble(*side);
    EXPECT_EQ(side->mode(), runtime_mode::off);
  }
  job_state const now = task.progress().state;
  EXPECT_TRUE(now == job_state::failed || now == job_state::cancelled) << "by the error, or by the runtime's end";
}
#endif

TEST_F(runtime_recorded, an_error_of_the_dispatcher_fails_jobs_only_when_no_block_is_inside) {
  auto const side = make();
  job task = submit_endless(*side);
  await(task, job_state::placed);
  halt stands;
  bubble_id const id = side->open(&trainer, site{"wait"});
  trainer.enqueue(stands.operation());
  side->close(id, &trainer);
  await_that([&] { return task.progress().phases != 0; });  // a block is inside
  seen.exchanges_throw = true;
  task.pause();  // asks for one
  await_that([&] { return side->mode() != runtime_mode::on; });
  EXPECT_FALSE(task.wait(20ms)) << "the machine is not lost, and nobody knows that its blocks are out";
  EXPECT_EQ(task.progress().state, job_state::placed);
  seen.exchanges_throw = false;
  EXPECT_TRUE(task.wait(120s));
  EXPECT_EQ(task.progress().state, job_state::failed);
  EXPECT_EQ(log_of(1).size(), 1U) << "each round has thrown, and one is told of";
  stands.let_go();
  trainer.synchronize();
}

}  // namespace
}  // namespace lull
