// SPDX-License-Identifier: Apache-2.0
// What a runtime makes of steps whose lengths the test says.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include <lull/host/runtime.hpp>
#include <lull/tests/host/said_lengths.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class step_lengths : public said_lengths {
 protected:
  static runtime_options bounded(double max_slowdown) {
    runtime_options made = options();
    made.max_slowdown = max_slowdown;
    return made;
  }
  static void await_timed(runtime const& side, std::uint64_t count) {
    await_that([&] { return side.steps().report().timed >= count; });
  }

  std::mt19937_64 random{1};
};

/// Steps with the costly job are ten times as long.
TEST_F(step_lengths, jobs_of_unlike_appetite_are_told_apart) {
  auto const side = make(bounded(0.2));
  std::array<job, 2> jobs{submit(*side, "tame"), submit(*side, "hungry")};
  std::array<double, 2> chance{};
  for (job& each : jobs) each.pause();
  for (int turn = 0; turn < 6; ++turn) {
    bool const is_hungry = turn % 2 == 1;
    job& now = jobs.at(is_hungry ? 1 : 0);
    now.resume();
    await(now, job_state::placed);
    std::uint64_t const before = side->steps().report().begun;
    for (int step = 0; step < 40; ++step) {
      side->step(&trainer);
      open_result const opened = side->open(&trainer, site{"wait"});
      trainer.enqueue([] { std::this_thread::sleep_for(200us); });
      side->close(opened, &trainer);
      say(*side, is_hungry && opened.what == counted::opened ? 40ms : 4ms);
    }
    await_timed(*side, before + 38);
    chance.at(is_hungry ? 1 : 0) = side->steps().report().chance;
    now.pause();
    await(now, job_state::paused);
  }
  EXPECT_GT(chance[0], 2 * chance[1]);
}

TEST_F(step_lengths, jobs_that_stand_together_are_told_apart_from_one_alone) {
  auto const side = make(bounded(0.5));
  job const one = submit(*side, "one");
  await(one, job_state::placed);
  for (int step = 0; step < 400; ++step) {
    side->step(&trainer);
    say(*side, std::chrono::microseconds{1'990 + random() % 20});
  }
  await_timed(*side, 398);
  EXPECT_GT(side->steps().report().chance, 0.2);
  auto const known = side->steps().slowdown_of("one");
  ASSERT_TRUE(known);
  EXPECT_LT(known->low, known->estimate);
  EXPECT_LT(known->estimate, known->high);
  EXPECT_EQ(known->high, side->steps().report().slowdown->high);
  EXPECT_FALSE(side->steps().slowdown_of("unheard of"));
  EXPECT_FALSE(make(options())->steps().slowdown_of("one")) << "without a bound";
  auto const becomes = [&](auto const& so) {
    for (int i = 0; i < 10'000 && !so(side->steps().report().chance); ++i) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(so(side->steps().report().chance)) << side->steps().report().chance;
  };
  job const same = submit(*side, "one");
  await(same, job_state::placed);
  EXPECT_GT(side->steps().report().chance, 0.2);
  job ended = same;
  ended.cancel();
  await(same, job_state::cancelled);
  job other = submit(*side, "other");
  becomes([](double chance) { return chance == 0.2; });
  other.cancel();
  becomes([](double chance) { return chance > 0.2; });
}

/// What is not foretold of a step's length is far less if its work is said.
TEST_F(step_lengths, are_compared_by_their_work) {
  auto const noise = [&](bool says_work) {
    auto const side = make(bounded(0.005));
    job const task = submit(*side, "a");  // without one the dispatcher looks seldom
    await(task, job_state::placed);
    for (int step = 0; step < 300; ++step) {
      int const work = step % 3 == 0 ? 4 : 1;
      side->step(&trainer, {}, says_work ? work : 0);
      say(*side, work * 500us);
    }
    forget();
    return side->steps().report().noise.value_or(-1);
  };
  EXPECT_GT(noise(false), 0.1);
  EXPECT_LT(noise(true), 0.01);
}

TEST_F(step_lengths, that_hardly_vary_are_not_logged_however_costly_side_work_is) {
  auto const side = make(bounded(0.005));
  job const task = submit(*side, "a");
  await(task, job_state::placed);
  for (int step = 0; step < 300; ++step) {
    std::uint64_t const before = side->steps().report().withheld;
    side->step(&trainer);
    bool const is_withheld = side->steps().report().withheld != before;
    say(*side, std::chrono::microseconds{(is_withheld ? 2'000 : 2'800) + random() % 10});
  }
  EXPECT_FALSE(within_time([&] { return !log().empty(); }, 50ms)) << log().front();
}

TEST_F(step_lengths, that_vary_much_are_logged_with_what_to_do) {
  auto const side = make(bounded(0.005));
  job const task = submit(*side, "a");
  await(task, job_state::placed);
  for (int step = 0; step < 300; ++step) {
    side->step(&trainer);
    say(*side, std::chrono::microseconds{500 + random() % 2'000});
  }
  auto const is_said = [&] {
    auto const said = log();
    return std::count_if(said.begin(), said.end(), [](auto& line) { return line.find("varies by") != line.npos; });
  };
  await_that([&] { return is_said() == 1; });
  EXPECT_FALSE(within_time([&] { return is_said() > 1; }, 50ms));
}

}  // namespace
}  // namespace lull
