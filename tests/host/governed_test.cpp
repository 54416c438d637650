// SPDX-License-Identifier: Apache-2.0
// Steps that the program marks: how long they took, and in which of them side work runs.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/detail/runtime/step_finder.hpp>
#include <lull/host/error.hpp>
#include <lull/host/govern/governor.hpp>
#include <lull/host/report/bubble_summary.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tests/host/runtime_recorded.hpp>
#include <lull/tests/support/halt.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t steps = 8;  // too few to tell a slowdown: the chance stays as it is

/// Returns which of the first steps are withheld.
std::vector<bool> withheld_by(std::uint64_t trainer) {
  governor alike{{.draw_seed = trainer}};
  std::vector<bool> found;
  for (std::uint64_t step = 0; step < steps; ++step) found.push_back(!alike.harvests(step));
  return found;
}

class governed : public runtime_recorded {
 protected:
  static runtime_options bounded(double max_slowdown, std::uint64_t trainer = 0) {
    runtime_options made = options();
    made.max_slowdown = max_slowdown;
    made.draw_seed = trainer;
    return made;
  }
  /// Returns a trainer whose first steps are of both kinds.
  static std::uint64_t trainer_of_both() {
    for (std::uint64_t found = 0;; ++found) {
      std::vector<bool> const of = withheld_by(found);
      if (std::count(of.begin(), of.end(), true) == 4) return found;
    }
  }
  /// Expects exactly this many, also a little later.
  static void expect_timed(runtime const& side, std::uint64_t count) {
    await_timed(side, count);
    EXPECT_FALSE(within_time([&] { return side.steps().report().timed > count; }, 50ms));
  }
  static void await_timed(runtime const& side, std::uint64_t count) {
    await_that([&] { return side.steps().report().timed >= count; });
  }
};

TEST_F(governed, steps_that_are_withheld_have_no_edges) {
  std::uint64_t const number = trainer_of_both();
  auto const side = make(bounded(0.005, number));
  job const task = submit(*side, "a");
  await(task, job_state::placed);
  seen.take();
  EXPECT_EQ(side->open(&trainer, site{"wait"}).what, counted::withheld);  // before the first mark
  EXPECT_EQ(seen.take(), calls{});
  std::vector<bool> const withheld = withheld_by(number);
  for (std::uint64_t step = 0; step < steps; ++step) {
    side->step(&trainer);
    seen.take();
    open_result const opened = side->open(&trainer, site{"wait"});
    EXPECT_EQ(opened.bubble == 0, withheld[step]) << step;
    EXPECT_EQ(opened.what, withheld[step] ? counted::withheld : counted::opened) << step;
    side->close(opened, &trainer);
    trainer.synchronize();
    calls const said = seen.take();
    EXPECT_EQ(said.empty(), withheld[step]) << step;
  }
  EXPECT_EQ(side->steps().report().begun, steps);
  EXPECT_EQ(side->steps().report().withheld, 4U);
  EXPECT_EQ(side->counts()[counted::withheld], 4U + 1U);
  EXPECT_EQ(side->steps().report().chance, 0.2);
  EXPECT_FALSE(side->steps().report().slowdown);
}

TEST_F(governed, steps_are_timed_on_their_stream_without_a_bound_too) {
  auto const side = make(options(runtime_mode::observe));
  for (int step = 0; step < 4; ++step) {
    side->step(&trainer);
    trainer.enqueue([] { std::this_thread::sleep_for(2ms); });
  }
  await_timed(*side, 3);
  step_report const found = side->steps().report();
  EXPECT_EQ(found.begun, 4U);
  EXPECT_EQ(found.timed, 3U);
  EXPECT_GE(found.total, 6ms);
  EXPECT_EQ(found.withheld, 0U);
  EXPECT_EQ(found.chance, 1);
}

TEST_F(governed, a_host_far_ahead_of_its_stream_loses_lengths_and_nothing_else) {
  auto const side = make();
  halt stands;
  trainer.enqueue(stands.operation());
  for (int step = 0; step < 1'000; ++step) side->step(&trainer);
  EXPECT_EQ(side->steps().report().timed, 0U);
  stands.let_go();
  await_timed(*side, 255);
  for (int step = 0; step < 3; ++step) side->step(&trainer);
  expect_timed(*side, 257);  // not the one between the two series: its beginning was not noted
  trainer.synchronize();
  EXPECT_EQ(side->steps().report().begun, 1'003U);
}

TEST_F(governed, steps_of_the_same_numbers_are_withheld_whenever_a_rank_started) {
  std::uint64_t const number = trainer_of_both();
  std::vector<bool> const withheld = withheld_by(number);
  auto const late = make(bounded(0.005, number));
  late->step(&trainer, 4);  // and 5
  for (std::uint64_t step = 5; step < steps; ++step) late->step(&trainer);
  auto const expected = static_cast<std::uint64_t>(std::count(withheld.begin() + 4, withheld.end(), true));
  EXPECT_EQ(late->steps().report().withheld, expected);
  EXPECT_EQ(late->steps().report().begun, steps - 4);
  await_timed(*late, steps - 5);
  late->step(&trainer, 0);  // the trainer goes back to a checkpoint
  EXPECT_EQ(late->steps().report().withheld, expected + (withheld[0] ? 1 : 0));
}

TEST_F(governed, a_bound_is_changed_and_taken_away_while_jobs_run) {
  auto const side = make(bounded(0.005));
  job const task = submit(*side, "a");
  await(task, job_state::placed);
  auto const opening = [&] {
    open_result const opened = side->open(&trainer, site{"wait"});
    side->close(opened, &trainer);
    trainer.synchronize();
    return opened.what;
  };
  EXPECT_EQ(opening(), counted::withheld);
  side->steps().bound_slowdown(0);
  EXPECT_EQ(opening(), counted::opened);
  EXPECT_EQ(side->steps().report().chance, 1);
  side->skip_step();
  EXPECT_EQ(opening(), counted::opened);
  side->steps().bound_slowdown(0.01);
  EXPECT_EQ(opening(), counted::withheld);  // until a step is marked
  await_that([&] {
    side->step(&trainer);
    return side->steps().report().withheld != side->steps().report().begun;
  });
  EXPECT_EQ(opening(), counted::opened);
  side->skip_step();
  EXPECT_EQ(opening(), counted::withheld);
  EXPECT_THROW(side->steps().bound_slowdown(2), usage_error);
  EXPECT_EQ(side->steps().report().chance, 0.2);
}

TEST_F(governed, the_same_bound_again_forgets_nothing_and_one_taken_away_is_still_told) {
  auto const side = make(bounded(0.005));
  for (int step = 0; step < 3; ++step) side->step(&trainer);
  await_timed(*side, 2);
  side->steps().bound_slowdown(0.005);
  EXPECT_EQ(side->steps().report().begun, 3U);
  side->steps().bound_slowdown(0);
  EXPECT_EQ(side->steps().report().begun, 3U);
  EXPECT_EQ(side->steps().report().max_slowdown, 0.005);
  EXPECT_EQ(side->summary().steps().max_slowdown, 0.005);
  side->step(&trainer);
  EXPECT_EQ(side->steps().report().begun, 1U);
  EXPECT_EQ(side->steps().report().max_slowdown, 0);
}

TEST_F(governed, what_began_under_another_bound_or_before_the_trainer_went_back_is_not_counted) {
  auto const side = make(bounded(0.005));
  halt stands;
  trainer.enqueue(stands.operation());
  for (std::uint64_t step = 0; step < 5; ++step) side->step(&trainer, 100 + step);
  side->step(&trainer, 90);
  side->step(&trainer, 91);
  stands.let_go();
  await_timed(*side, 1);
  trainer.synchronize();
  side->step(&trainer, 92);
  expect_timed(*side, 2);
  EXPECT_EQ(side->steps().report().begun, 8U);
  side->steps().bound_slowdown(0.01);
  side->step(&trainer);
  side->step(&trainer);
  await_timed(*side, 1);
  EXPECT_EQ(side->steps().report().begun, 2U);
}

TEST_F(governed, only_a_runtime_that_is_on_has_a_bound) {
  runtime_options watching = options(runtime_mode::observe);
  watching.max_slowdown = 0.005;
  auto const side = make(watching);
  side->step(&trainer);
  side->steps().bound_slowdown(0.01);
  EXPECT_THROW(side->steps().bound_slowdown(2), usage_error);
  EXPECT_EQ(side->steps().report().max_slowdown, 0);
  EXPECT_EQ(side->steps().report().withheld, 0U);
  EXPECT_EQ(side->steps().report().begun, 1U);
}

TEST_F(governed, steps_are_found_by_a_site_where_the_program_marks_none) {
  std::uint64_t const number = trainer_of_both();
  std::vector<bool> const withheld = withheld_by(number);
  auto const side = make(bounded(0.005, number));
  for (std::uint32_t opening = 1; opening < detail::step_finder::patience; ++opening) one_bubble(*side, "first");
  EXPECT_EQ(side->steps().report().begun, 0U);
  EXPECT_TRUE(log().empty());
  std::uint64_t expected = 0;
  for (std::uint64_t step = 0; step < steps; ++step) {
    one_bubble(*side, "second");
    expected += withheld[step] ? 1 : 0;
    EXPECT_EQ(side->steps().report().begun, step + 1);
    EXPECT_EQ(side->steps().report().withheld, expected);
    one_bubble(*side, "first");
  }
  ASSERT_EQ(log_of(1).size(), 1U);
  EXPECT_NE(log().front().find("each opening at 'second' begins one"), std::string::npos) << log().front();
  await_timed(*side, steps - 1);
  side->step(&trainer);  // the program's own: it counts from 0, as other ranks do
  EXPECT_EQ(side->steps().report().withheld, expected + (withheld[0] ? 1 : 0));
  one_bubble(*side, "second");
  EXPECT_EQ(side->steps().report().begun, steps + 1);
  side->steps().bound_slowdown(0.01);
  one_bubble(*side, "second");
  EXPECT_EQ(side->steps().report().begun, 0U);
}

TEST_F(governed, without_a_bound_no_steps_are_looked_for) {
  auto const side = make();
  for (std::uint32_t opening = 0; opening < 2 * detail::step_finder::patience; ++opening) one_bubble(*side);
  EXPECT_EQ(side->steps().report().begun, 0U);
  EXPECT_TRUE(log().empty());
}

TEST_F(governed, a_step_that_is_skipped_is_not_timed_and_the_next_one_is) {
  auto const side = make();
  side->skip_step();  // before any
  for (int step = 0; step < 4; ++step) {
    side->step(&trainer);
    if (step == 1) {
      side->skip_step();
      side->skip_step();
      trainer.enqueue([] { std::this_thread::sleep_for(200ms); });
    }
    trainer.enqueue([] { std::this_thread::sleep_for(2ms); });
  }
  side->step(&trainer);
  await_timed(*side, 3);
  step_report const found = side->steps().report();
  EXPECT_EQ(found.begun, 5U);
  EXPECT_LT(found.total, 200ms);
  side->skip_step();  // the one under way
  trainer.enqueue([] { std::this_thread::sleep_for(200ms); });
  side->step(&trainer);
  side->step(&trainer);
  await_timed(*side, 4);
  EXPECT_LT(side->steps().report().total, 200ms);
}

TEST_F(governed, a_runtime_that_is_off_and_streams_that_cannot_be_timed_have_no_steps) {
  auto const off = make(options(runtime_mode::off));
  off->step(&trainer);
  EXPECT_EQ(off->steps().report().begun, 0U);
  auto const side = make();
  seen.foreign = true;
  side->step(&trainer);
  seen.foreign = false;
  seen.capturing = true;
  side->step(&trainer);
  seen.capturing = false;
  EXPECT_EQ(side->steps().report().begun, 0U);
}

TEST_F(governed, a_bound_that_cannot_be_is_refused) {
  for (double const bound : {-0.1, 1.5, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(make(bounded(bound)), usage_error) << bound;
}

TEST_F(governed, a_runtime_may_end_before_its_stream_comes_to_a_mark) {
  halt stands;
  auto const began = std::chrono::steady_clock::now();
  {
    auto const side = make();
    trainer.enqueue(stands.operation());
    side->step(&trainer);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, 2s);  // it does not wait for the stream
  stands.let_go();
  trainer.synchronize();
}

TEST_F(governed, a_job_that_draws_power_is_logged_once_where_no_bound_keeps_training_from_harm) {
  auto const lines = [&](double worth, double max_slowdown) {
    std::size_t const before = log().size();
    runtime_options asked = bounded(max_slowdown);
    asked.tuning.training_worth = worth;
    auto const side = make(asked);
    for (int i = 0; i < 2; ++i) {
      job_description what = description("product");
      what.draws_power = true;
      side->submit(std::move(what)).cancel();
    }
    side->submit(description("tame")).cancel();
    bool const is_said = within_time([&] { return log().size() > before; }, 100ms);
    std::vector<std::string> const said = log();
    return is_said ? std::vector<std::string>(said.begin() + static_cast<std::ptrdiff_t>(before), said.end())
                   : std::vector<std::string>{};
  };
  std::vector<std::string> const said = lines(30, 0);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("'product' draws so much power"), std::string::npos) << said[0];
  EXPECT_TRUE(lines(30, 0.01).empty());
  EXPECT_TRUE(lines(0, 0).empty());
}

}  // namespace
}  // namespace lull
