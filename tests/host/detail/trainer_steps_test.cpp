// SPDX-License-Identifier: Apache-2.0
// Marks of steps whose moments have not yet reached the trainer's stream.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/detail/runtime/trainer_steps.hpp>
#include <lull/host/threads/executor.hpp>
#include <lull/host/threads/stream.hpp>

namespace lull::detail {
namespace {

using namespace std::chrono_literals;

/// A machine on which something happens while a moment is enqueued.
class busy_machine final : public threads_executor {
 public:
  busy_machine() : threads_executor{{.kind = executor_kind::threads, .processors = 1}} {}
  void note(stream_handle stream, stream_moment& when) override {
    if (meanwhile) meanwhile();
    threads_executor::note(stream, when);
  }
  std::function<void()> meanwhile;
};

std::uint64_t timed(trainer_steps& steps, threads_stream& trainer) {
  trainer.synchronize();
  steps.collect({}, false);
  return steps.report().timed;
}

TEST(trainer_steps, that_is_skipped_while_its_beginning_is_enqueued_says_nothing) {
  busy_machine machine;
  threads_stream trainer;
  trainer_steps::log_function const log;
  trainer_steps steps{machine, {}, log};
  for (int step = 0; step < 4; ++step) {
    machine.meanwhile = step == 2 ? [&] { steps.skip(); } : std::function<void()>{};
    steps.next(&trainer);
  }
  EXPECT_EQ(timed(steps, trainer), 2U) << "of three that are over the last was skipped";
}

TEST(trainer_steps, is_read_while_another_beginning_is_enqueued) {
  busy_machine machine;
  threads_stream trainer;
  trainer_steps::log_function const log;
  trainer_steps steps{machine, {}, log};
  steps.next(&trainer);
  steps.next(&trainer);
  std::uint64_t seen = 0;
  machine.meanwhile = [&] { seen = timed(steps, trainer); };  // under a lock it would wait for itself
  steps.next(&trainer);
  EXPECT_EQ(seen, 1U);
}

/// A machine on which a step takes as long as it is told, and so much longer if side work runs in it.
class timed_machine final : public threads_executor {
 public:
  timed_machine(std::chrono::nanoseconds step, double slowdown)
      : threads_executor{{.kind = executor_kind::threads, .processors = 1}}, step(step), slowdown_(slowdown) {}
  void began(side_work runs, double work) {
    double const longer = runs == side_work::all ? slowdown_ : runs == side_work::half ? slowdown_ / 10 : 0;
    double const ns = ns_of_work != 0 ? ns_of_work * work : static_cast<double>(step.count());
    took_ns_.push_back(ns * (1 + longer));
  }
  void note(stream_handle, stream_moment& when) override {
    ++marks;
    begins_[&when] = took_ns_.size();
  }
  std::optional<std::chrono::nanoseconds> between(stream_moment& from, stream_moment& to) override {
    double ns = 0;
    for (std::size_t of = begins_.at(&from); of < begins_.at(&to); ++of) ns += took_ns_.at(of);
    return std::chrono::nanoseconds{static_cast<std::int64_t>(ns)};
  }

  std::chrono::nanoseconds step;  // … that begins from now on
  double ns_of_work = 0;          // … if not 0, for each unit of its work
  std::uint64_t marks = 0;

 private:
  double const slowdown_;
  std::vector<double> took_ns_;
  std::map<stream_moment const*, std::size_t> begins_;  // the step that begins there
};

/// Steps under a cap of a hundredth.
class capped_steps : public testing::Test {
 protected:
  explicit capped_steps(std::chrono::nanoseconds step = 10ms) : machine_{step, 0.06} {}

  void train(int count, double work = 0) {
    for (int step = 0; step < count; ++step) {
      if (!steps_.joins({}, work)) steps_.next(&trainer_, {}, work);
      machine_.began(steps_.may_run(&trainer_, 1, "wait"), work);
      steps_.collect(placed_, may_halve_);
    }
  }

  timed_machine machine_;
  threads_stream trainer_;
  placed_kinds placed_{kind_of("hungry"), 0};
  bool may_halve_ = false;
  std::vector<std::string> lines_;
  trainer_steps::log_function const log_ = [this](std::string_view line) { lines_.emplace_back(line); };
  trainer_steps steps_{machine_, {.cap = 0.01}, log_};
};

TEST_F(capped_steps, have_side_work_before_the_first_mark_and_until_it_is_known_to_cost_more) {
  EXPECT_TRUE(steps_.may_harvest());
  EXPECT_EQ(steps_.may_run(&trainer_, 1, "wait"), side_work::all);
  train(40);
  EXPECT_LT(steps_.report().withheld, 20U);
  EXPECT_TRUE(lines_.empty());
}

TEST_F(capped_steps, have_less_of_it_and_say_so_once) {
  train(2'000);
  step_report const now = steps_.report();
  EXPECT_EQ(now.slowdown_cap, 0.01);
  EXPECT_EQ(now.max_slowdown, 0);
  ASSERT_TRUE(now.slowdown);
  EXPECT_NEAR(now.slowdown->estimate, 0.06, 0.01);
  EXPECT_LT(now.chance, 0.2);
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_NE(lines_.front().find("more than 1 %: from now on it runs in 1"), std::string::npos) << lines_.front();
}

TEST_F(capped_steps, that_are_skipped_have_it) {
  train(2'000);
  for (int step = 0; step < 40; ++step) {
    train(1);
    steps_.skip();
    EXPECT_TRUE(steps_.may_harvest()) << step;
  }
}

TEST_F(capped_steps, have_none_of_a_cap_under_a_bound) {
  steps_.bound(0.5);
  EXPECT_FALSE(steps_.may_harvest());
  EXPECT_EQ(steps_.report().slowdown_cap, 0);
  steps_.bound(0);
  EXPECT_TRUE(steps_.may_harvest());
  train(2'000);
  EXPECT_EQ(steps_.report().slowdown_cap, 0.01);
  EXPECT_LT(steps_.report().chance, 0.2);
}

class short_capped_steps : public capped_steps {
 protected:
  short_capped_steps() : capped_steps{100us} {}
};

TEST_F(short_capped_steps, are_timed_together_and_all_counted) {
  train(20'000, 512);
  step_report const now = steps_.report();
  EXPECT_EQ(now.begun, 20'000U);
  EXPECT_GE(now.timed, 19'900U);
  EXPECT_NEAR(static_cast<double>(now.total.count()) / static_cast<double>(now.timed), 1e5, 2e3);
  EXPECT_LT(machine_.marks, 20'000 / 3U);
  ASSERT_TRUE(now.slowdown);
  EXPECT_NEAR(now.slowdown->estimate, 0.06, 0.01);
  EXPECT_LT(now.chance, 0.2);
  EXPECT_GT(now.withheld, 10'000U);
}

TEST_F(short_capped_steps, begin_again_after_one_that_is_skipped) {
  train(1'000);
  std::uint64_t const marks = machine_.marks;
  steps_.skip();
  train(1);
  EXPECT_EQ(machine_.marks, marks + 1);
}

TEST_F(short_capped_steps, are_marked_each_where_their_numbers_jump_or_a_bound_is_set) {
  train(1'000);
  EXPECT_FALSE(steps_.joins(5'001, 0));
  EXPECT_FALSE(steps_.joins(3, 0));
  steps_.bound(0.5);
  std::uint64_t const marks = machine_.marks;
  train(100);
  EXPECT_EQ(machine_.marks, marks + 100);
}

TEST_F(short_capped_steps, are_marked_each_again_once_they_are_long) {
  train(1'000);
  machine_.step = 10ms;
  train(200);
  std::uint64_t const marks = machine_.marks;
  train(100);
  EXPECT_EQ(machine_.marks, marks + 100);
}

TEST_F(short_capped_steps, one_odd_reading_takes_no_more_than_two_together) {
  machine_.step = 1us;
  train(2);
  machine_.step = 300ms;
  std::uint64_t const marks = machine_.marks;
  train(60);
  EXPECT_GE(machine_.marks, marks + 50);
}

TEST_F(short_capped_steps, are_compared_by_their_work_together) {
  machine_.ns_of_work = 200;
  for (int step = 0; step < 8'000; ++step) train(1, 100 + 700 * (step * 7 % 10));
  step_report const now = steps_.report();
  ASSERT_TRUE(now.slowdown);
  EXPECT_NEAR(now.slowdown->estimate, 0.06, 0.02);
  ASSERT_TRUE(now.noise);
  EXPECT_LT(*now.noise, 0.2);
}

TEST_F(short_capped_steps, may_have_half_of_the_blocks) {
  may_halve_ = true;
  train(12'000);
  EXPECT_GT(steps_.report().halved, 6'000U);
}

TEST_F(capped_steps, of_two_jobs_are_assumed_to_cost_what_the_costlier_does) {
  train(2'000);
  std::uint64_t const before = steps_.report().withheld;
  placed_ = {kind_of("hungry"), kind_of("new")};
  train(200);
  EXPECT_GT(steps_.report().withheld, before + 100);
}

TEST_F(capped_steps, that_are_not_marked_leave_the_choice_of_jobs_alone) {
  steps_.assume_slowdown("hungry", 0.1);
  EXPECT_EQ(steps_.chance(kind_of("hungry")), std::nullopt);
  train(1);
  EXPECT_LT(steps_.chance(kind_of("hungry")).value(), 0.2);
}

}  // namespace
}  // namespace lull::detail
