// SPDX-License-Identifier: Apache-2.0
// The governor with a cap: side work runs until it is known to cost more.
#include <cstdint>

#include <gtest/gtest.h>

#include <lull/bench/govern/simulated_trainer.hpp>
#include <lull/host/govern/governor.hpp>

namespace lull {
namespace {

constexpr double cap = 0.01;
constexpr int runs = 5;

bench::governed_run mean_of_runs(bench::trainer_traits const& trainer, std::uint64_t steps) {
  bench::governed_run mean;
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    bench::governed_run const run = bench::run_governed(trainer, cap, steps, seed, true);
    mean.harvest += run.harvest / runs;
    mean.slowdown_behind += run.slowdown_behind / runs;
  }
  return mean;
}

TEST(capped, leaves_side_work_that_costs_less_nearly_all_steps) {
  for (double const noise : {0.003, 0.01, 0.15}) {
    for (double const slowdown : {0.0, 0.002}) {
      double const harvest = mean_of_runs({.name = "usual", .slowdown = slowdown, .noise = noise}, 5'000).harvest;
      EXPECT_GT(harvest, noise < 0.1 ? 0.95 : 0.9) << slowdown << " at " << noise;
    }
  }
}

TEST(capped, takes_no_noise_for_a_cost) {
  using bench::trainer_traits;
  for (trainer_traits const& trainer : {trainer_traits{.name = "noisy", .slowdown = 0.004, .noise = 0.15},
                                        trainer_traits{.name = "noisier", .slowdown = 0, .noise = 0.5},
                                        trainer_traits{.name = "of many lengths", .slowdown = 0, .lengths = 0.7},
                                        trainer_traits{.name = "often doubled", .slowdown = 0, .doubled = 0.15},
                                        trainer_traits{.name = "longer later", .slowdown = 0, .jump = 0.6}}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed)
      EXPECT_GT(bench::run_governed(trainer, cap, 4'000, seed, true).harvest, 0.75) << trainer.name << ", " << seed;
  }
}

TEST(capped, holds_side_work_that_costs_more_near_the_cap) {
  for (double const slowdown : {0.02, 0.06, 0.3}) {
    bench::governed_run const run = mean_of_runs({.name = "usual", .slowdown = slowdown, .noise = 0.005}, 10'000);
    EXPECT_LT(run.slowdown_behind, 1.25 * cap) << slowdown;
    EXPECT_GT(run.harvest, 0.85) << slowdown;
  }
}

TEST(capped, holds_side_work_that_turns_hungry) {
  bench::trainer_traits const trainer{.name = "usual", .slowdown = 0.002, .later_slowdown = 0.06, .noise = 0.005};
  EXPECT_LT(mean_of_runs(trainer, 20'000).slowdown_behind, 1.1 * cap);
}

TEST(capped, lets_half_of_the_blocks_do_more_than_all_within_it) {
  bench::trainer_traits const trainer{.name = "usual", .slowdown = 0.06, .noise = 0.005, .half = 0.008};
  bench::governed_run const run = mean_of_runs(trainer, 20'000);
  EXPECT_GT(run.harvest, 0.7);
  EXPECT_LT(run.slowdown_behind, 1.2 * cap);
}

double harvested(governor& of, std::uint64_t steps) {
  double sum = 0;
  for (std::uint64_t step = 0; step < steps; ++step) sum += of.harvests(step) ? 1 : 0;
  return sum / static_cast<double>(steps);
}

TEST(capped, lets_side_work_run_where_no_step_is_ever_timed) {
  governor of{{.max_slowdown = cap, .is_cap = true}};
  EXPECT_GT(harvested(of, 4'000), 0.8);
}

TEST(capped, begins_with_what_was_supposed) {
  governor of{{.max_slowdown = cap, .is_cap = true}};
  of.assume_slowdown(0, {.slowdown = 0.1});
  EXPECT_NEAR(harvested(of, 8'000), 0.1, 0.03);
}

}  // namespace
}  // namespace lull
