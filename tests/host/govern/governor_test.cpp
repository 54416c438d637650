// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <lull/bench/govern/simulated_trainer.hpp>
#include <lull/host/error.hpp>
#include <lull/host/govern/governor.hpp>

namespace lull {
namespace {

constexpr double step_ns = 1e8;

TEST(governor, refuses_what_it_cannot_keep) {
  for (double const bound : {0.0, -0.1, 1.1, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(governor{{.max_slowdown = bound}}, usage_error) << bound;
  EXPECT_THROW(governor{{.steps_a_spell = 0}}, usage_error);
  for (double const withheld : {0.0, 0.6}) EXPECT_THROW(governor{{.min_withheld = withheld}}, usage_error) << withheld;
}

TEST(governor, decides_for_whole_spells) {
  governor of{{.trainer = 3, .steps_a_spell = 4}};
  int harvested = 0;
  for (std::uint64_t spell = 0; spell < 400; ++spell) {
    bool const first = of.harvests(4 * spell);
    for (std::uint64_t step = 4 * spell + 1; step < 4 * spell + 4; ++step) EXPECT_EQ(of.harvests(step), first);
    harvested += first ? 1 : 0;
  }
  EXPECT_NEAR(harvested, 400 * of.chance(), 30);  // nothing was told, so it stays careful
}

std::vector<bool> draws(governor& of, std::uint64_t from, std::uint64_t to) {
  std::vector<bool> found;
  for (std::uint64_t step = from; step < to; ++step) found.push_back(of.harvests(step));
  return found;
}

TEST(governor, ranks_of_a_trainer_withhold_in_the_same_steps_whenever_they_started) {
  governor first{{.trainer = 17}};
  governor restarted{{.trainer = 17}};
  governor other{{.trainer = 18}};
  draws(first, 0, 500);
  std::vector<bool> const found = draws(first, 500, 1'000);
  EXPECT_EQ(found, draws(restarted, 500, 1'000));
  EXPECT_NE(found, draws(other, 500, 1'000));
}

/// Tells it steps of a trainer without noise.
void train(governor& of, std::uint64_t from, std::uint64_t to, double slowdown) {
  for (std::uint64_t step = from; step < to; ++step) of.took(step, step_ns * (of.harvests(step) ? 1 + slowdown : 1));
}

TEST(governor, ranks_with_unlike_chances_withhold_together_what_is_withheld_for_all) {
  governor tame{{.max_slowdown = 0.02, .trainer = 5}};
  governor hungry{{.max_slowdown = 0.02, .trainer = 5}};
  train(tame, 0, 1'000, 0.001);
  train(hungry, 0, 1'000, 0.08);
  EXPECT_GT(tame.chance(), 0.9);
  EXPECT_LT(hungry.chance(), 0.3);
  for (std::uint64_t step = 1'000; step < 3'000; ++step) {
    bool const tame_harvests = tame.harvests(step);
    EXPECT_FALSE(hungry.harvests(step) && !tame_harvests) << step;
  }
}

TEST(governor, gives_side_work_nearly_all_steps_where_it_costs_nothing) {
  governor of{{.max_slowdown = 0.005}};
  train(of, 0, 400, 0);
  EXPECT_DOUBLE_EQ(of.chance(), 0.98);
  ASSERT_TRUE(of.interval());
  EXPECT_NEAR(of.interval()->high, 0, 1e-6);
}

TEST(governor, does_without_steps_that_are_told_late_or_never) {
  governor of{{.max_slowdown = 0.005}};
  std::vector<bool> harvested;
  for (std::uint64_t step = 0; step < 2'000; ++step) {
    harvested.push_back(of.harvests(step));
    if (step < 20) continue;
    std::uint64_t const told = step - 20;
    if (told % 7 == 0) continue;
    of.took(told, told % 11 == 0 ? -1 : step_ns * (harvested[told] ? 1.02 : 1));
  }
  ASSERT_TRUE(of.interval());
  EXPECT_NEAR(of.interval()->estimate, 0.02, 1e-3);
  EXPECT_NEAR(of.chance(), 0.98 * 0.005 / 0.02, 0.02);
  of.took(1, step_ns);  // of a spell that is over
  of.took(9'999, step_ns);  // not asked for
  EXPECT_NEAR(of.interval()->estimate, 0.02, 1e-3);
}

TEST(governor, does_not_keep_every_step_that_is_never_told) {
  governor of{{.trainer = 1}};
  for (std::uint64_t step = 0; step < 100'000; ++step) of.harvests(step);
  of.took(1, step_ns);
  EXPECT_FALSE(of.interval());
}

/// The figures over ten thousand runs are in docs/results/governor.json.
TEST(governor, keeps_its_bound_beside_trainers_of_all_kinds) {
  int runs = 0;
  int over = 0;
  for (bench::trainer_traits const& trainer : bench::simulated_trainers()) {
    for (double const bound : {0.003, 0.01}) {
      for (std::uint64_t seed = 1'001; seed <= 1'010; ++seed, ++runs) {
        bench::governed_run const run = bench::run_governed(trainer, bound, 2'000, seed);
        EXPECT_LE(run.slowdown, 1.3 * bound) << trainer.name << ", seed " << seed;
        over += run.slowdown > bound ? 1 : 0;
      }
    }
  }
  EXPECT_LE(over, runs * 3 / 100);
}

TEST(governor, leaves_side_work_most_of_what_the_bound_allows) {
  auto const trainers = bench::simulated_trainers();
  auto const usual = std::find_if(trainers.begin(), trainers.end(), [](auto const& of) { return of.name == "usual"; });
  ASSERT_NE(usual, trainers.end());
  for (double const bound : {0.003, 0.005, 0.01, 0.02}) {
    double harvest = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) harvest += bench::run_governed(*usual, bound, 2'000, seed).harvest;
    EXPECT_GE(harvest / 10, 0.6) << bound;
  }
}

}  // namespace
}  // namespace lull
