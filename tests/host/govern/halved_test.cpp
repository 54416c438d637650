// SPDX-License-Identifier: Apache-2.0
// Side work that may run with half of its blocks.
#include <cstdint>
#include <random>
#include <string_view>

#include <gtest/gtest.h>

#include <lull/bench/govern/simulated_trainer.hpp>
#include <lull/host/govern/governor.hpp>

namespace lull {
namespace {

constexpr double step_ns = 1e8;
constexpr std::uint64_t kind = 7;

struct costs {
  double whole = 0;
  double half = 0;
};

struct counts {
  int whole = 0;
  int half = 0;
};

/// A trainer with noise of 0.3 %.
class halved : public testing::Test {
 protected:
  counts train(int steps, costs of, bool may_halve = true) {
    counts found;
    for (int i = 0; i < steps; ++i, ++step_) {
      side_work const runs = governor_.decide(step_, kind, may_halve);
      found.whole += runs == side_work::all ? 1 : 0;
      found.half += runs == side_work::half ? 1 : 0;
      double const longer = runs == side_work::none ? 0 : runs == side_work::half ? of.half : of.whole;
      governor_.took(step_, step_ns * (1 + 0.003 * normal_(random_)) * (1 + longer));
    }
    return found;
  }

  governor governor_{{.max_slowdown = 0.005, .draw_seed = 3}};

 private:
  std::uint64_t step_ = 0;
  std::mt19937_64 random_{5};
  std::normal_distribution<double> normal_;
};

TEST_F(halved, a_hungry_one_is_where_half_costs_far_less_than_half) {
  constexpr costs quarter{.whole = 0.03, .half = 0.007};
  train(1'500, quarter);
  EXPECT_TRUE(governor_.is_halved(kind));
  EXPECT_GT(governor_.chance(kind, true), 3 * governor_.chance(kind));
  counts const found = train(1'000, quarter);
  EXPECT_GT(found.half, 300);
  EXPECT_LT(found.whole, 30) << "a sixteenth of the spells tries all";
  EXPECT_NEAR(governor_.interval(kind)->estimate, 0.03, 0.003);
  EXPECT_NEAR(governor_.interval(kind, true)->estimate, 0.007, 0.002);
}

TEST_F(halved, it_is_not_where_half_costs_nearly_as_much) {
  for (double const half : {0.02, 0.03}) {
    train(1'500, {.whole = 0.03, .half = half});
    EXPECT_FALSE(governor_.is_halved(kind)) << half;
  }
}

TEST_F(halved, a_tame_one_never_is) {
  counts const found = train(3'000, {.whole = 0.005, .half = 0});
  EXPECT_EQ(found.half, 0);
  EXPECT_GT(found.whole, 1'500);
}

TEST_F(halved, one_that_may_not_be_never_is) {
  EXPECT_EQ(train(3'000, {.whole = 0.03, .half = 0.007}, false).half, 0);
  EXPECT_FALSE(governor_.is_halved(kind));
}

TEST_F(halved, one_that_no_longer_may_be_runs_whole_and_is_judged_so) {
  train(1'500, {.whole = 0.03, .half = 0.007});
  EXPECT_EQ(train(400, {.whole = 0.03, .half = 0.007}, false).half, 0);
  EXPECT_NEAR(governor_.interval(kind)->estimate, 0.03, 0.003);
}

TEST_F(halved, one_that_turns_tame_is_tried_whole_again) {
  train(1'500, {.whole = 0.03, .half = 0.007});
  ASSERT_TRUE(governor_.is_halved(kind));
  train(4 * 1'024, {.whole = 0.001, .half = 0.0005});
  counts const found = train(1'000, {.whole = 0.001, .half = 0.0005});
  EXPECT_GT(found.whole, 700);
  EXPECT_EQ(found.half, 0);
}

/// Nothing of half changes, so only trials of all can tell.
TEST_F(halved, one_whose_whole_alone_turns_tame_is_tried_whole_again) {
  train(1'500, {.whole = 0.03, .half = 0.004});
  ASSERT_TRUE(governor_.is_halved(kind));
  train(8 * 1'024, {.whole = 0.001, .half = 0.004});
  counts const found = train(1'000, {.whole = 0.001, .half = 0.004});
  EXPECT_GT(found.whole, 700);
  EXPECT_FALSE(governor_.is_halved(kind));
}

/// The same seeds with and without halving.
TEST_F(halved, more_is_done_within_the_bound) {
  bench::trainer_traits const may{.name = "hungry", .slowdown = 0.03, .noise = 0.005, .half = 0.007};
  double with = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    bench::governed_run const run = bench::run_governed(may, 0.005, 15'000, seed);
    EXPECT_LT(run.slowdown_behind, 0.005) << seed;
    with += run.harvest / 20;
  }
  // All blocks do at most 0.38 of what half of them do.
  EXPECT_GT(with, 0.55);
}

}  // namespace
}  // namespace lull
