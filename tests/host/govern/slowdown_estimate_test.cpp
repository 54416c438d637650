// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include <gtest/gtest.h>

#include <lull/host/govern/slowdown_estimate.hpp>

namespace lull {
namespace {

TEST(slowdown_estimate, says_nothing_before_five_spells_of_either_kind) {
  slowdown_estimate of;
  for (int i = 0; i < 20; ++i) of.add(0.5, true, 0.02);
  for (int i = 0; i < 4; ++i) of.add(0.5, false, 0);
  EXPECT_FALSE(of.interval());
  EXPECT_EQ(of.loss(), 0);
  of.add(0.5, false, 0);
  ASSERT_TRUE(of.interval());
  EXPECT_EQ(of.spells(), 25U);
}

TEST(slowdown_estimate, of_spells_without_noise_is_exact) {
  slowdown_estimate of;
  for (int i = 0; i < 40; ++i) of.add(0.5, i % 2 == 0, i % 2 == 0 ? 0.02 : 0);
  ASSERT_TRUE(of.interval());
  EXPECT_NEAR(of.interval()->estimate, 0.02, 1e-12);
  EXPECT_NEAR(of.interval()->high - of.interval()->low, 0, 1e-6);
  EXPECT_NEAR(of.loss(), 20 * 0.02, 1e-9);
}

TEST(slowdown_estimate, does_not_take_a_short_fall_for_a_change) {
  slowdown_estimate of;
  auto const spells = [&](int count, double slowdown) {
    for (int i = 0; i < count; ++i)
      of.add(0.5, i % 2 == 0, (i % 2 == 0 ? slowdown : 0) + (i / 2 % 2 == 0 ? 0.001 : -0.001));
  };
  spells(400, 0.05);
  spells(16, 0);
  EXPECT_EQ(of.spells(), 416U) << "a hungry job may look tame by chance";
  spells(16, 0.1);
  EXPECT_LT(of.spells(), 100U) << "a rise is seen sooner";
}

TEST(slowdown_estimate, is_not_moved_by_a_drift_that_the_draw_does_not_follow) {
  slowdown_estimate of;
  std::mt19937_64 random{5};
  std::uniform_real_distribution<double> draw;
  for (int i = 0; i < 20'000; ++i) {
    bool const is_harvested = draw(random) < 0.25;
    of.add(0.25, is_harvested, (i / 2'000) % 2 * 0.05 + (is_harvested ? 0.01 : 0));
  }
  ASSERT_TRUE(of.interval());
  EXPECT_LT(of.interval()->low, 0.01);
  EXPECT_GT(of.interval()->high, 0.01);
  EXPECT_NEAR(of.interval()->estimate, 0.01, 0.005);
}

TEST(slowdown_estimate, reaches_so_far_after_about_as_many_spells_as_foretold) {
  for (double const chance : {0.1, 0.5, 0.9}) {
    for (double const half : {0.01, 0.003}) {
      double const foretold = slowdown_estimate::spells_to_know(half, chance, 0.02);
      slowdown_estimate of;
      std::mt19937_64 random{7};
      std::uniform_real_distribution<double> draw;
      std::normal_distribution<double> noise{0, 0.02};
      int spells = 0;
      for (auto now = of.interval(); !now || now->high - now->low > 2 * half; now = of.interval(), ++spells) {
        bool const is_harvested = draw(random) < chance;
        of.add(chance, is_harvested, noise(random) + (is_harvested ? 0.01 : 0));
      }
      EXPECT_GT(spells, 0.7 * foretold) << chance << ' ' << half;
      EXPECT_LT(spells, 2 * foretold) << chance << ' ' << half;  // it may forget by chance, and begin again
    }
  }
  EXPECT_LE(slowdown_estimate::spells_to_know(1e-12, 2e-4, 0.5), 1e9);
  EXPECT_EQ(slowdown_estimate::spells_to_know(1, 0.5, 1e-4), 40);  // five of either kind, at such a chance
}

/// Returns in how many series the interval ever missed the slowdown, if it was read after each spell.
int missed(int series, double (*noise)(std::mt19937_64&)) {
  int found = 0;
  for (int seed = 0; seed < series; ++seed) {
    std::mt19937_64 random{static_cast<std::uint64_t>(seed)};
    std::uniform_real_distribution<double> draw;
    slowdown_estimate of;
    bool has_missed = false;
    double chance = 0.2;
    for (int spell = 0; spell < 1'000; ++spell) {
      bool const is_harvested = draw(random) < chance;
      of.add(chance, is_harvested, noise(random) + (is_harvested ? 0.02 : 0));
      auto const now = of.interval();
      if (!now) continue;
      has_missed = has_missed || now->low > 0.02 || now->high < 0.02;
      chance = std::clamp(0.01 / std::max(now->high, 1e-9), 0.01, 0.95);  // as a governor would follow it
    }
    found += has_missed ? 1 : 0;
  }
  return found;
}

TEST(slowdown_estimate, interval_rarely_ever_misses_though_it_is_looked_at_all_the_time) {
  EXPECT_LE(missed(300, [](std::mt19937_64& random) { return std::normal_distribution{0.0, 0.01}(random); }), 15);
  EXPECT_LE(missed(300, [](std::mt19937_64& random) { return std::exponential_distribution{50.0}(random); }), 15);
  EXPECT_LE(missed(300,
                   [](std::mt19937_64& random) {
                     double const rare = std::uniform_real_distribution{}(random) < 0.01 ? 1 : 0;
                     return rare + std::normal_distribution{0.0, 0.003}(random);
                   }),
            15);
}

TEST(slowdown_estimate, forgets_what_was_before_a_change_and_prices_each_spell_at_its_time) {
  slowdown_estimate of;
  std::mt19937_64 random{9};
  std::normal_distribution<double> noise{0, 0.005};
  for (int i = 0; i < 400; ++i) of.add(0.5, i % 2 == 0, noise(random) + (i % 2 == 0 ? 0.002 : 0));
  ASSERT_EQ(of.spells(), 400U);
  for (int i = 0; i < 60; ++i) of.add(0.5, i % 2 == 0, noise(random) + (i % 2 == 0 ? 0.05 : 0));
  EXPECT_LE(of.spells(), 80U);
  EXPECT_GT(of.interval()->low, 0.03);
  EXPECT_NEAR(of.loss(), 200 * 0.002 + 30 * 0.05, 0.3);
  for (int i = 0; i < 400; ++i) of.add(0.5, i % 2 == 0, noise(random) + (i % 2 == 0 ? 0.002 : 0));
  EXPECT_LE(of.spells(), 420U);
  EXPECT_LT(of.interval()->high, 0.01);
}

TEST(slowdown_estimate, of_a_change_without_noise_has_the_loss_of_either_time) {
  slowdown_estimate of;
  for (int i = 0; i < 400; ++i) of.add(0.5, i % 2 == 0, i % 2 == 0 ? 0.002 : 0);
  for (int i = 0; i < 64; ++i) of.add(0.5, i % 2 == 0, i % 2 == 0 ? 0.05 : 0);
  EXPECT_LE(of.spells(), 72U);
  EXPECT_NEAR(of.loss(), 200 * 0.002 + 32 * 0.05, 0.05);
}

TEST(slowdown_estimate, interval_of_a_thousand_spells_is_as_narrow_as_their_noise_allows) {
  slowdown_estimate of;
  std::mt19937_64 random{1};
  std::normal_distribution<double> noise{0, 0.01};
  for (int i = 0; i < 1'000; ++i) of.add(0.5, i % 2 == 0, noise(random));
  double const error = 0.01 * std::sqrt(1.0 / 500 + 1.0 / 500);
  EXPECT_GT(of.interval()->high - of.interval()->estimate, 2 * error);  // looked at once it would be 1.96
  EXPECT_LT(of.interval()->high - of.interval()->estimate, 4 * error);
}

}  // namespace
}  // namespace lull
