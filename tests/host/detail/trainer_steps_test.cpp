// SPDX-License-Identifier: Apache-2.0
// Marks of steps whose moments have not yet reached the trainer's stream.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
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

/// A machine on which a step takes a millisecond, and so much longer if side work ran in it.
class timed_machine final : public threads_executor {
 public:
  explicit timed_machine(double slowdown)
      : threads_executor{{.kind = executor_kind::threads, .processors = 1}}, slowdown_(slowdown) {}
  void began(bool harvests) { harvests_.push_back(harvests); }
  std::optional<std::chrono::nanoseconds> between(stream_moment&, stream_moment&) override {
    double const longer = harvests_.at(read_++) ? slowdown_ : 0;
    return std::chrono::nanoseconds{static_cast<std::int64_t>(1e6 * (1 + longer))};
  }

 private:
  double const slowdown_;
  std::vector<bool> harvests_;
  std::size_t read_ = 0;
};

/// Steps under a cap of a hundredth.
class capped_steps : public testing::Test {
 protected:
  void train(int count) {
    for (int step = 0; step < count; ++step) {
      steps_.next(&trainer_);
      machine_.began(steps_.may_harvest());
      steps_.collect({kind_of("hungry"), 0}, false);
    }
  }

  timed_machine machine_{0.06};
  threads_stream trainer_;
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
  EXPECT_EQ(now.cap, 0.01);
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
  EXPECT_EQ(steps_.report().cap, 0);
  steps_.bound(0);
  EXPECT_TRUE(steps_.may_harvest());
  train(2'000);
  EXPECT_EQ(steps_.report().cap, 0.01);
  EXPECT_LT(steps_.report().chance, 0.2);
}

}  // namespace
}  // namespace lull::detail
