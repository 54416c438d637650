// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

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
  governor of{{.draw_seed = 3, .steps_a_spell = 4}};
  int harvested = 0;
  for (std::uint64_t spell = 0; spell < 400; ++spell) {
    bool const first = of.harvests(4 * spell);
    for (std::uint64_t step = 4 * spell + 1; step < 4 * spell + 4; ++step) EXPECT_EQ(of.harvests(step), first);
    harvested += first ? 1 : 0;
  }
  EXPECT_NEAR(harvested, 400 * 0.2 * 64 / 400, 10);  // hardly any after the 64 spells without a length
}

std::vector<bool> draws(governor& of, std::uint64_t from, std::uint64_t to) {
  std::vector<bool> found;
  for (std::uint64_t step = from; step < to; ++step) found.push_back(of.harvests(step));
  return found;
}

TEST(governor, ranks_of_a_trainer_withhold_in_the_same_steps_whenever_they_started) {
  governor first{{.draw_seed = 17}};
  governor restarted{{.draw_seed = 17}};
  governor other{{.draw_seed = 18}};
  draws(first, 480, 500);
  std::vector<bool> const found = draws(first, 500, 600);
  EXPECT_EQ(found, draws(restarted, 500, 600));
  EXPECT_NE(found, draws(other, 500, 600));
}

/// Reports steps of a trainer without noise.
void train(governor& of, std::uint64_t from, std::uint64_t to, double slowdown) {
  for (std::uint64_t step = from; step < to; ++step) of.took(step, step_ns * (of.harvests(step) ? 1 + slowdown : 1));
}

TEST(governor, ranks_with_unlike_chances_withhold_together_what_is_withheld_for_all) {
  governor tame{{.max_slowdown = 0.02, .draw_seed = 5}};
  governor hungry{{.max_slowdown = 0.02, .draw_seed = 5}};
  train(tame, 0, 1'000, 0.001);
  train(hungry, 0, 1'000, 0.08);
  EXPECT_GT(tame.chance(), 0.9);
  EXPECT_LT(hungry.chance(), 0.3);
  for (std::uint64_t step = 1'000; step < 3'000; ++step) {
    bool const tame_harvests = tame.harvests(step);
    EXPECT_FALSE(hungry.harvests(step) && !tame_harvests) << step;
  }
}

/// Reports steps of a trainer without noise, with side work of two kinds in turns of 48 steps.
double train_by_turns(governor& of, std::uint64_t steps, std::array<double, 2> slowdowns,
                      std::array<std::uint64_t, 2>& harvested) {
  double longer = 0;
  for (std::uint64_t step = 0; step < steps; ++step) {
    std::uint64_t const kind = step / 48 % 2;
    bool const harvests = of.harvests(step, kind);
    harvested.at(kind) += harvests ? 1 : 0;
    longer += harvests ? slowdowns.at(kind) : 0;
    of.took(step, step_ns * (harvests ? 1 + slowdowns.at(kind) : 1));
  }
  return longer / static_cast<double>(steps);
}

TEST(governor, lets_a_hungry_kind_give_way_and_a_tame_one_run) {
  governor of{{.max_slowdown = 0.01, .draw_seed = 9}};
  std::array<std::uint64_t, 2> harvested{};
  EXPECT_LT(train_by_turns(of, 8'000, {0.1, 0.002}, harvested), 0.01);
  EXPECT_LT(harvested[0], 4'000 * 0.25);
  EXPECT_GT(harvested[1], 4'000 * 0.85);
  ASSERT_TRUE(of.interval(0) && of.interval(1));
  EXPECT_NEAR(of.interval(0)->estimate, 0.1, 0.01);
  EXPECT_LE(of.interval(1)->low, 0.002);
  EXPECT_GE(of.interval(1)->high, 0.002);
  EXPECT_GT(of.chance(1), 4 * of.chance(0));
}

TEST(governor, keeps_its_bound_beside_kinds_that_come_and_go) {
  governor of{{.max_slowdown = 0.01, .draw_seed = 4}};
  double longer = 0;
  constexpr std::uint64_t steps = 20'000;
  for (std::uint64_t step = 0; step < steps; ++step) {
    bool const harvests = of.harvests(step, step / 100);  // another kind each time, each costs a fifth of a step
    longer += harvests ? 0.2 : 0;
    of.took(step, step_ns * (harvests ? 1.2 : 1));
  }
  EXPECT_LT(longer / steps, 1.3 * 0.01);
  EXPECT_GT(longer, 0);
}

TEST(governor, tells_the_noise_and_how_long_it_takes_to_know_at_that) {
  governor of{{.max_slowdown = 0.01, .draw_seed = 5, .steps_a_spell = 2}};
  EXPECT_FALSE(of.noise());
  EXPECT_EQ(of.steps_to_know(), 0U);
  std::mt19937_64 random{3};
  std::normal_distribution<double> noise{1, 0.01};
  for (std::uint64_t step = 0; step < 2'000; ++step) {
    static_cast<void>(of.harvests(step));
    of.took(step, step_ns * noise(random));
  }
  ASSERT_TRUE(of.noise());
  EXPECT_NEAR(*of.noise(), 0.01, 0.004);
  EXPECT_GT(of.steps_to_know(), 500U);
  EXPECT_LT(of.steps_to_know(), 30'000U);
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
  EXPECT_NEAR(of.chance(), 0.9 * 0.005 / 0.02, 0.02);
}

TEST(governor, hardly_harvests_while_nothing_is_told_for_64_spells) {
  governor of{{.draw_seed = 1, .steps_a_spell = 1}};
  std::vector<bool> harvested;
  for (std::uint64_t step = 0; step < 63; ++step) harvested.push_back(of.harvests(step));
  EXPECT_EQ(of.chance(), 0.2);
  for (std::uint64_t step = 63; step < 400; ++step) harvested.push_back(of.harvests(step));
  EXPECT_LT(of.chance(), 1e-3);
  for (std::uint64_t step = 0; step < 336; ++step) of.took(step, step_ns);  // too late: they are forgotten
  EXPECT_LT(of.chance(), 1e-3);
  for (std::uint64_t step = 336; step < 400; ++step) of.took(step, step_ns);
  EXPECT_EQ(of.chance(), 0.2);
  EXPECT_FALSE(of.interval());
}

TEST(governor, learns_a_trainers_usual_step_behind_its_slow_first_one) {
  governor of{{.max_slowdown = 0.005}};
  for (std::uint64_t step = 0; step < 2; ++step) of.took(step, of.harvests(step) ? 0 : 100 * step_ns);
  train(of, 2, 400, 0);
  EXPECT_DOUBLE_EQ(of.chance(), 0.98);
}

TEST(governor, does_not_take_a_pause_of_the_trainer_for_what_side_work_costs) {
  governor of{{.max_slowdown = 0.02}};
  train(of, 0, 1'000, 0.001);
  for (std::uint64_t step = 1'000; step < 1'002; ++step) {
    of.harvests(step);
    of.took(step, 300 * step_ns);
  }
  train(of, 1'002, 2'000, 0.001);
  EXPECT_GT(of.chance(), 0.2);
}

/// As `train`, with noise of a thousandth, for a trainer whose steps are `times` as long.
void train_noisily(governor& of, std::uint64_t from, std::uint64_t to, double times) {
  std::mt19937_64 random{from};
  std::normal_distribution<double> noise{0, 0.001};
  for (std::uint64_t step = from; step < to; ++step)
    of.took(step, times * step_ns * (1 + noise(random)) * (of.harvests(step) ? 1.001 : 1));
}

TEST(governor, goes_on_with_what_a_step_usually_takes_after_a_pause) {
  governor of{{.max_slowdown = 0.02, .steps_a_spell = 1}};
  train_noisily(of, 0, 500, 1);
  of.harvests(500);
  of.took(500, 300 * step_ns);
  train_noisily(of, 501, 600, 1);
  ASSERT_TRUE(of.interval());
  EXPECT_NEAR(of.interval()->estimate, 0.001, 0.01);
}

TEST(governor, learns_what_a_step_usually_takes_where_all_become_longer) {
  governor of{{.max_slowdown = 0.02, .steps_a_spell = 1}};
  train_noisily(of, 0, 500, 1);
  EXPECT_NEAR(of.noise().value_or(1), 0.001, 0.0005);
  train_noisily(of, 500, 600, 1.5);
  EXPECT_NEAR(of.noise().value_or(1), 0.001, 0.0005) << "the new length is no noise of the old one";
}

TEST(governor, learns_at_once_when_the_trainer_counts_from_the_beginning) {
  governor of{{.max_slowdown = 0.02, .steps_a_spell = 1}};
  for (std::uint64_t step = 1'000; step < 1'030; ++step) of.harvests(step);
  train(of, 0, 60, 0.001);
  EXPECT_TRUE(of.noise()) << "steps of before, which nobody tells any more, stood in the way";
}

TEST(governor, ends_the_beginning_where_side_work_devours_the_step) {
  governor of{{.max_slowdown = 0.005}};
  int harvested = 0;
  for (std::uint64_t step = 0; step < 1'000; ++step) {
    bool const is_harvested = of.harvests(step);
    harvested += is_harvested ? 1 : 0;
    of.took(step, step_ns * (is_harvested ? 2 : 1));
  }
  EXPECT_GE(harvested, 4);
  EXPECT_LE(harvested, 16);  // 5 would be 0.5 % of 1,000, and a spell is 4
}

TEST(governor, begins_as_carefully_as_is_supposed_and_then_goes_by_what_it_saw) {
  governor of{{.max_slowdown = 0.005}};
  of.assume_slowdown(1, {0});
  of.assume_slowdown(2, {0.1});
  EXPECT_EQ(of.chance(0), 0.2);
  EXPECT_EQ(of.chance(1), 0.5);
  EXPECT_LT(of.chance(2), 1e-6) << "six spells could not be paid for";
  EXPECT_TRUE(of.has_idea_of(1));
  EXPECT_FALSE(of.has_idea_of(0));
  train(of, 0, 1'000, 0.001);
  EXPECT_TRUE(of.has_idea_of(0));
  EXPECT_GT(of.chance(0), 0.9);
  of.assume_slowdown(0, {0.1});
  EXPECT_GT(of.chance(0), 0.9);
  of.assume_slowdown(3, {.slowdown = 0.001, .is_at_least = true});
  EXPECT_EQ(of.chance(3), 0.2) << "no bolder";
  EXPECT_FALSE(of.has_idea_of(3));
  of.assume_slowdown(3, {.slowdown = 2, .is_at_least = true});
  EXPECT_LT(of.chance(3), 1e-6) << "but more careful";
  of.assume_nothing(3);
  EXPECT_EQ(of.chance(3), 0.2);
}

TEST(governor, goes_by_harvested_spells_that_are_longer_than_was_supposed) {
  governor of{{.max_slowdown = 0.005}};
  of.assume_slowdown(0, {0.0001});
  for (std::uint64_t step = 0; !of.interval() && step < 400; ++step) {
    bool const is_harvested = of.harvests(step);
    of.took(step, step_ns * (is_harvested ? 1.4 : 1));
    if (of.chance() != 0.5) break;
  }
  EXPECT_FALSE(of.interval());
  EXPECT_LT(of.chance(), 0.01);
}

TEST(governor, a_job_that_is_supposed_to_devour_steps_keeps_the_bound_from_the_first_one_on) {
  auto const longer_with = [](double assumed) {
    governor of{{.max_slowdown = 0.005, .draw_seed = 9}};
    if (assumed > 0) of.assume_slowdown(0, {assumed});
    double longer = 0;
    double max = 0;  // in the mean since the beginning
    for (std::uint64_t step = 0; step < 4'000; ++step) {
      bool const is_harvested = of.harvests(step);
      longer += is_harvested ? 0.5 : 0;
      of.took(step, step_ns * (is_harvested ? 1.5 : 1));
      if (step >= 100) max = std::max(max, longer / static_cast<double>(step + 1));
    }
    return max;
  };
  EXPECT_LE(longer_with(0.5), 0.005);
  EXPECT_GT(longer_with(0), 0.005);
}

TEST(governor, is_wary_when_a_harmless_job_turns_hungry_and_makes_up_for_it) {
  governor of{{.max_slowdown = 0.005}};
  train(of, 0, 1'000, 0.001);
  ASSERT_GT(of.chance(), 0.9);
  std::uint64_t step = 1'000;
  for (; of.chance() > 0.3 && step < 1'200; ++step) of.took(step, step_ns * (of.harvests(step) ? 1.1 : 1));
  int harvested = 0;
  for (std::uint64_t const until = step + 20; step < until; ++step) {
    bool const is_harvested = of.harvests(step);
    harvested += is_harvested ? 1 : 0;
    of.took(step, step_ns * (is_harvested ? 1.1 : 1));
  }
  EXPECT_LE(harvested, 12) << "a draw that lets it run for long was not ended";
  EXPECT_LE(of.chance(), 0.3);
  train(of, step, step + 40, 0.1);
  EXPECT_LT(of.chance(), 0.1) << "spells in a row took a tenth longer";
  train(of, step + 40, 3'000, 0.1);
  EXPECT_LT(of.chance(), 0.06);
  EXPECT_GT(of.interval()->high, 0.08);
}

TEST(governor, withholds_more_where_the_slowdown_may_be_as_high_as_the_bound) {
  governor of{{.max_slowdown = 0.01}};
  train(of, 0, 4'000, 0.0099);
  EXPECT_GT(of.chance(), 0.8);
  EXPECT_LE(of.chance(), 0.89);
}

TEST(governor, counts_spells_that_are_told_in_part) {
  governor of{{.max_slowdown = 0.005, .steps_a_spell = 4}};
  for (std::uint64_t step = 0; step < 2'000; ++step) {
    bool const is_harvested = of.harvests(step);
    if (step % 4 == 2) of.took(step, step_ns * (is_harvested ? 1.02 : 1));
  }
  ASSERT_TRUE(of.interval());
  EXPECT_NEAR(of.interval()->estimate, 0.02, 1e-3);
}

TEST(governor, does_not_mind_steps_that_were_not_asked_for_or_are_counted_anew) {
  governor of{{.max_slowdown = 0.005, .steps_a_spell = 1}};
  of.took(0, step_ns);
  for (std::uint64_t turn = 0; turn < 2; ++turn) {
    for (std::uint64_t step = 0; step < 500; ++step) {
      bool const is_harvested = of.harvests(step);
      of.took(step + 1'000, 9 * step_ns);
      of.took(step, step_ns * (is_harvested ? 1.02 : 1));
      for (double const odd : {0.0, -1.0, 1e308, std::numeric_limits<double>::quiet_NaN()}) of.took(step, odd);
    }
  }
  ASSERT_TRUE(of.interval());
  EXPECT_NEAR(of.interval()->estimate, 0.02, 1e-3);
}

TEST(governor, stays_finite_whatever_work_is_said) {
  for (double const odd : {1e308, 1e-310, 1e100, 1e-100, -1.0, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    for (std::uint64_t const at : {0U, 100U, 400U}) {
      governor of{{.max_slowdown = 0.005}};
      std::mt19937_64 random{4};
      std::normal_distribution<double> noise{1, 0.003};
      for (std::uint64_t step = 0; step < 2'000; ++step) {
        bool const is_harvested = of.harvests(step);
        of.took(step, step_ns * noise(random) * (is_harvested ? 1.05 : 1), step / 4 == at / 4 ? odd : 4'096);
      }
      ASSERT_TRUE(of.interval()) << odd << ' ' << at;
      EXPECT_LT(of.noise().value_or(1), 0.1) << odd << ' ' << at;
      EXPECT_LT(of.chance(), 0.2) << odd << ' ' << at;
    }
  }
}

/// Lengths of whole spells are missing, also of those with which draws begin.
TEST(governor, tells_draws_apart_whose_lengths_are_missing_in_part) {
  governor of{{.max_slowdown = 0.02}};
  std::mt19937_64 random{4};
  std::normal_distribution<double> noise{1, 0.003};
  for (std::uint64_t step = 0; step < 40'000; ++step) {
    bool const is_harvested = of.harvests(step);
    if (step / 4 % 8 != 0 || step < 2'000) of.took(step, step_ns * noise(random) * (is_harvested ? 1.02 : 1));
  }
  ASSERT_TRUE(of.interval());
  EXPECT_NEAR(of.interval()->estimate, 0.02, 0.001);
  EXPECT_LE(of.interval()->low, 0.02);
  EXPECT_GE(of.interval()->high, 0.02);
}

/// Draws are long where it matters: what is carried over shows in them.
TEST(governor, lets_many_spells_share_a_draw_once_much_is_known) {
  governor of{{.max_slowdown = 0.005}};
  std::mt19937_64 random{2};
  std::normal_distribution<double> noise{1, 0.003};
  std::uint64_t changes = 0;
  std::uint64_t late_changes = 0;
  bool before = false;
  for (std::uint64_t step = 0; step < 20'000; ++step) {
    bool const now = of.harvests(step);
    (step < 400 ? changes : step >= 16'000 ? late_changes : changes) += now != before ? 1 : 0;
    before = now;
    of.took(step, step_ns * noise(random) * (now ? 1.006 : 1));
  }
  EXPECT_GT(late_changes, 4U);
  EXPECT_LT(late_changes, 4'000 / 40);
}

}  // namespace
}  // namespace lull
