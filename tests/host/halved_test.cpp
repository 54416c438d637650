// SPDX-License-Identifier: Apache-2.0
// Workers with half of their blocks, where that uses a bound on slowdown better.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <lull/host/govern/governor.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tests/host/said_lengths.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class halved_workers : public said_lengths {
 protected:
  static runtime_options bounded() {
    runtime_options made = options(runtime_mode::on, launch_time::at_open);
    made.max_slowdown = 0.005;
    return made;
  }
  /// Marks one step with a bubble; its length depends on what may run in it. Checks how the worker was launched, if at
  /// all.
  side_work step(runtime& side, double whole, double half) {
    step_report const before = side.steps().report();
    side.step(&trainer);
    step_report const now = side.steps().report();
    side_work const runs = now.withheld != before.withheld ? side_work::none
                           : now.halved != before.halved   ? side_work::half
                                                           : side_work::all;
    seen.take();
    open_result const opened = side.open(&trainer, site{"wait"});
    trainer.enqueue([] { std::this_thread::sleep_for(200us); });
    side.close(opened, &trainer);
    EXPECT_EQ(opened.what == counted::withheld, runs == side_work::none);
    double const slowdown = runs == side_work::all ? whole : runs == side_work::half ? half : 0;
    double const ns = 1e8 * (1 + 0.003 * normal_(random_)) * (1 + slowdown);
    say(side, std::chrono::nanoseconds{static_cast<std::chrono::nanoseconds::rep>(ns)});
    for (std::string const& each : seen.take()) {
      if (!each.starts_with("launch")) continue;
      EXPECT_EQ(each.ends_with(" of 1 block"), runs == side_work::half) << each;
      ++launches_[static_cast<std::size_t>(runs)];
    }
    return runs;
  }
  int launched(side_work how) const { return launches_[static_cast<std::size_t>(how)]; }

 private:
  std::array<int, 3> launches_{};
  std::mt19937_64 random_{5};
  std::normal_distribution<double> normal_;
};

TEST_F(halved_workers, of_a_hungry_job_do_more_and_the_report_says_so) {
  auto const side = make(bounded());
  job const task = side->submit(description("hungry", 2'560));
  await(task, job_state::placed);
  std::uint64_t halved = 0;
  for (int i = 0; i < 1'000; ++i) halved += step(*side, 0.03, 0.004) == side_work::half ? 1 : 0;
  step_report const found = side->steps().report();
  EXPECT_GT(halved, 100U);
  EXPECT_EQ(found.halved, halved);
  EXPECT_GT(launched(side_work::half), 0);
  EXPECT_GT(launched(side_work::all), 0);
  ASSERT_TRUE(found.slowdown);
  EXPECT_LE(found.slowdown->low, 0.004) << "of what runs now";
  EXPECT_GE(found.slowdown->high, 0.004);
  EXPECT_LT(found.slowdown->estimate, 0.012);
  ASSERT_TRUE(side->steps().slowdown_of("hungry"));
  EXPECT_NEAR(side->steps().slowdown_of("hungry")->estimate, 0.03, 0.005) << "of all its blocks";
}

TEST_F(halved_workers, of_a_tame_job_have_all_their_blocks) {
  auto const side = make(bounded());
  job const task = side->submit(description("tame", 2'560));
  await(task, job_state::placed);
  for (int i = 0; i < 300; ++i) ASSERT_NE(step(*side, 0.001, 0), side_work::half);
  EXPECT_EQ(side->steps().report().halved, 0U);
}

/// The next bubbles belong to no step.
TEST_F(halved_workers, have_all_their_blocks_again_where_the_bound_is_taken_away) {
  auto const side = make(bounded());
  job const task = side->submit(description("hungry", 2'560));
  await(task, job_state::placed);
  for (int i = 0; i < 2'000 && step(*side, 0.03, 0.004) != side_work::half; ++i) {
  }
  ASSERT_GT(side->steps().report().halved, 0U);
  side->steps().bound_slowdown(0);
  seen.take();
  open_result const opened = side->open(&trainer, site{"wait"});
  EXPECT_NE(opened.what, counted::withheld);
  side->close(opened, &trainer);
  trainer.synchronize();
  for (std::string const& each : seen.take()) EXPECT_FALSE(each.ends_with(" of 1 block")) << each;
}

}  // namespace
}  // namespace lull
