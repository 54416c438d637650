// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include <gtest/gtest.h>

#include <lull/host/govern/slowdown_estimate.hpp>
#include <lull/host/govern/step_forecast.hpp>

namespace lull {
namespace {

constexpr double spread = 0.01;

/// An estimate of spells that it draws itself, each of one step, beside a forecast that follows them.
class estimated {
 public:
  explicit estimated(std::uint64_t seed = 1) : random_(seed) {
    while (forecast_.learns({.step_ns = step_ns})) {
    }
  }

  /// Adds a spell that takes that share longer than a usual step.
  void add(double chance, bool is_harvested, double longer, bool is_new = true) {
    step_forecast::spell const took{.step_ns = step_ns * (1 + longer)};
    of_.begin({.chance = chance, .is_harvested = is_harvested, .is_new = is_new});
    double const deviation = forecast_.deviation(took);
    of_.add(deviation, forecast_.spread());
    of_.follow(forecast_.follow(took, deviation, deviation - of_.expected()));
  }
  bool draw(double chance) { return std::uniform_real_distribution<double>{}(random_) < chance; }
  double noise(double size) { return std::normal_distribution<double>{0, size}(random_); }
  /// Adds spells of which each is harvested with a chance of a half, and then takes `slowdown` longer.
  void spells(int count, double slowdown, double noise_size) {
    for (int i = 0; i < count; ++i) {
      bool const is_harvested = draw(0.5);
      add(0.5, is_harvested, (is_harvested ? slowdown : 0) + noise(noise_size));
    }
  }
  slowdown_estimate* operator->() { return &of_; }
  std::mt19937_64& random() { return random_; }

 private:
  static constexpr double step_ns = 1e8;

  std::mt19937_64 random_;
  slowdown_estimate of_{1, 0.02};
  step_forecast forecast_;
};

TEST(slowdown_estimate, says_nothing_before_five_draws_of_either_kind) {
  estimated of;
  for (int i = 0; i < 20; ++i) of.add(0.5, true, 0.02);
  for (int i = 0; i < 5; ++i) of.add(0.5, false, 0);  // the fifth has not ended
  EXPECT_FALSE(of->interval());
  EXPECT_EQ(of->loss(), 0);
  for (int i = 0; i < 10; ++i) of.add(0.5, false, 0, false);
  EXPECT_FALSE(of->interval()) << "spells of one draw";
  of.add(0.5, false, 0);
  ASSERT_TRUE(of->interval());
  EXPECT_EQ(of->spells(), 35U);
}

TEST(slowdown_estimate, of_spells_with_little_noise_is_nearly_exact) {
  estimated of;
  of.spells(400, 0.02, 0.0005);
  ASSERT_TRUE(of->interval());
  EXPECT_NEAR(of->interval()->estimate, 0.02, 5e-4);
  EXPECT_LT(of->interval()->high - of->interval()->low, 0.012);
  EXPECT_NEAR(of->loss(), 200 * 0.02, 0.5);
}

TEST(slowdown_estimate, does_not_take_a_short_fall_for_a_change) {
  estimated of;
  of.spells(400, 0.05, 0.001);
  of.spells(16, 0, 0.001);
  EXPECT_GT(of->spells(), 400U) << "a hungry job may look tame by chance";
  of.spells(24, 0.1, 0.001);
  EXPECT_LT(of->spells(), 100U) << "a rise is seen sooner";
}

TEST(slowdown_estimate, is_not_moved_by_a_drift_that_the_draw_does_not_follow) {
  estimated of{5};
  for (int i = 0; i < 20'000; ++i) {
    bool const is_harvested = of.draw(0.25);
    of.add(0.25, is_harvested, (i / 2'000) % 2 * 0.02 + (is_harvested ? 0.01 : 0));
  }
  ASSERT_TRUE(of->interval());
  EXPECT_NEAR(of->interval()->estimate, 0.01, 0.001);
}

/// Side work of which each step costs later ones, too: `slowdown` in all, if it runs all the time.
void carry_over(estimated& of, int draws, int spells_a_draw, double decay, double slowdown, double noise = 0.001) {
  double const kept = std::exp(-1 / decay);
  double left = 0;
  for (int draw = 0; draw < draws; ++draw) {
    bool const is_harvested = of.draw(0.5);
    for (int spell = 0; spell < spells_a_draw; ++spell) {
      left = kept * left + (1 - kept) * (is_harvested ? slowdown : 0);
      of.add(0.5, is_harvested, left + of.noise(noise), spell == 0);
    }
  }
}

TEST(slowdown_estimate, counts_what_later_steps_take_longer) {
  for (double const decay : {2.0, 3.0, 5.0, 8.0, 10.0, 16.0, 25.0, 32.0}) {
    for (int const spells_a_draw : {1, 4, 16}) {
      estimated of;
      carry_over(of, 4'000 / spells_a_draw, spells_a_draw, decay, 0.02);
      ASSERT_TRUE(of->interval());
      EXPECT_NEAR(of->interval()->estimate, 0.02, 0.0025) << decay << ' ' << spells_a_draw;
      EXPECT_LE(of->interval()->low, 0.0202) << decay << ' ' << spells_a_draw;
      EXPECT_GE(of->interval()->high, 0.0197) << decay << ' ' << spells_a_draw;
    }
  }
}

TEST(slowdown_estimate, is_less_sure_where_draws_are_short_and_much_may_be_carried) {
  auto const width = [](int spells_a_draw) {
    estimated of;
    carry_over(of, 2'048 / spells_a_draw, spells_a_draw, 1e-3, 0.02, 0.01);
    return of->interval()->high - of->interval()->low;
  };
  EXPECT_GT(width(1), 1.5 * width(16));
}

TEST(slowdown_estimate, does_not_mind_spells_far_off_with_and_without_side_work) {
  estimated of;
  for (int i = 0; i < 1'000; ++i) {
    bool const is_harvested = of.draw(0.5);
    of.add(0.5, is_harvested, (is_harvested ? 0.01 : 0) + of.noise(0.002) + (i % 25 == 0 ? 1.5 : 0));
  }
  ASSERT_TRUE(of->interval());
  EXPECT_NEAR(of->interval()->estimate, 0.01, 0.006);
  EXPECT_LT(of->interval()->high, 0.03);
}

TEST(slowdown_estimate, counts_spells_far_off_where_side_work_makes_them) {
  for (double const share : {1.0, 0.1}) {
    estimated of;
    for (int i = 0; i < 4'000; ++i) {
      bool const is_harvested = of.draw(0.5);
      of.add(0.5, is_harvested, of.noise(0.002) + (is_harvested && of.draw(share) ? 0.3 : 0));
    }
    ASSERT_TRUE(of->interval());
    EXPECT_GT(of->interval()->estimate, 0.15 * share) << share;
    EXPECT_GT(of->interval()->high, 0.25 * share) << share;
  }
}

TEST(slowdown_estimate, reaches_so_far_after_about_as_many_spells_as_foretold) {
  for (double const chance : {0.2, 0.5, 0.8}) {
    for (double const half : {0.02, 0.007}) {
      estimated of{7};
      double foretold = 0;
      int spells = 0;
      for (auto now = of->interval(); !now || now->high - now->low > 2 * half; now = of->interval(), ++spells) {
        bool const is_harvested = of.draw(chance);
        of.add(chance, is_harvested, of.noise(spread) + (is_harvested ? 0.01 : 0));
        if (spells == 200) foretold = of->spells_to_know(half, chance, spread);
      }
      ASSERT_GT(spells, 200);
      EXPECT_GT(spells, 0.6 * foretold) << chance << ' ' << half;
      EXPECT_LT(spells, 6 * foretold) << chance << ' ' << half;  // it may forget by chance, and begin again
    }
  }
  estimated of;
  EXPECT_LE(of->spells_to_know(1e-12, 2e-4, 0.5), 1e9);
  EXPECT_EQ(of->spells_to_know(1, 0.5, 1e-4), 40);  // five of either kind, at such a chance
}

/// Returns in how many series the interval ever missed the slowdown, if it was read after each spell.
int missed(int series, double (*noise)(std::mt19937_64&)) {
  int found = 0;
  for (int seed = 0; seed < series; ++seed) {
    estimated of{static_cast<std::uint64_t>(seed)};
    bool has_missed = false;
    double chance = 0.2;
    for (int spell = 0; spell < 1'000; ++spell) {
      bool const is_harvested = of.draw(chance);
      of.add(chance, is_harvested, noise(of.random()) + (is_harvested ? 0.02 : 0));
      auto const now = of->interval();
      if (!now) continue;
      has_missed = has_missed || now->low > 0.02 || now->high < 0.02;
      chance = std::clamp(0.01 / std::max(now->high, 1e-9), 0.01, 0.95);  // as a governor would follow it
    }
    found += has_missed ? 1 : 0;
  }
  return found;
}

TEST(slowdown_estimate, interval_rarely_ever_misses_though_it_is_looked_at_all_the_time) {
  EXPECT_LE(missed(200, [](std::mt19937_64& random) { return std::normal_distribution{0.0, 0.01}(random); }), 10);
  EXPECT_LE(missed(200, [](std::mt19937_64& random) { return std::exponential_distribution{50.0}(random); }), 10);
  EXPECT_LE(missed(200,
                   [](std::mt19937_64& random) {
                     double const rare = std::uniform_real_distribution{}(random) < 0.01 ? 1 : 0;
                     return rare + std::normal_distribution{0.0, 0.003}(random);
                   }),
            10);
}

TEST(slowdown_estimate, forgets_what_was_before_a_change_and_prices_each_spell_at_its_time) {
  estimated of{9};
  of.spells(400, 0.02, 0.005);
  ASSERT_GT(of->spells(), 380U);
  of.spells(60, 0.1, 0.005);
  EXPECT_LE(of->spells(), 80U);
  EXPECT_GT(of->interval()->estimate, 0.06);
  EXPECT_NEAR(of->loss(), 200 * 0.02 + 30 * 0.1, 2);
  of.spells(400, 0.002, 0.005);
  EXPECT_LE(of->spells(), 400U);
  EXPECT_NEAR(of->interval()->estimate, 0.002, 0.006);
}

TEST(slowdown_estimate, interval_of_a_thousand_spells_is_as_narrow_as_their_noise_allows) {
  estimated of;
  for (int i = 0; i < 4'000; ++i) {
    static bool is_harvested = false;
    if (i % 64 == 0) is_harvested = of.draw(0.5);
    of.add(0.5, is_harvested, of.noise(0.01), i % 64 == 0);
  }
  double const error = 0.01 * std::sqrt(4.0 / 4'000);
  EXPECT_GT(of->interval()->high - of->interval()->estimate, 2 * error);  // looked at once it would be 1.96
  EXPECT_LT(of->interval()->high - of->interval()->estimate, 9 * error);
}

}  // namespace
}  // namespace lull
