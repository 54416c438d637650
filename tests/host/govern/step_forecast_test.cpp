// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <lull/host/govern/step_forecast.hpp>

namespace lull {
namespace {

constexpr double step_ns = 1e8;

class forecast : public testing::Test {
 protected:
  /// Returns how far the spell was off.
  double tell(double ns, double work = 0) {
    step_forecast::spell const now{.step_ns = ns, .work = work};
    if (of_.learns(now)) return 0;
    double const off = of_.deviation(now);
    of_.follow(now, off, off);
    return off;
  }
  double noisy(double size) { return 1 + size * normal_(random_); }

  step_forecast of_;
  std::mt19937_64 random_{3};
  std::normal_distribution<double> normal_;
};

TEST_F(forecast, begins_with_the_shortest_of_three_spells) {
  tell(30 * step_ns);
  tell(step_ns);
  tell(1.1 * step_ns);
  EXPECT_NEAR(tell(step_ns), 0, 1e-9);
}

TEST_F(forecast, a_pause_counts_as_three_times_as_long_and_moves_it_little) {
  for (int i = 0; i < 50; ++i) tell(step_ns);
  EXPECT_NEAR(tell(300 * step_ns), std::log(3), 1e-9);
  EXPECT_NEAR(tell(step_ns), 0, 0.005);
}

TEST_F(forecast, follows_steps_that_become_longer_for_good) {
  for (int i = 0; i < 50; ++i) tell(step_ns);
  for (int i = 0; i < 4; ++i) EXPECT_GT(tell(1.5 * step_ns), 0.3) << i;
  EXPECT_NEAR(tell(1.5 * step_ns), 0, 0.01);
}

TEST_F(forecast, moves_less_where_there_is_noise_than_where_there_is_drift) {
  for (int i = 0; i < 500; ++i) tell(step_ns * noisy(0.01));
  step_forecast::spell const off{.step_ns = step_ns * 1.01};
  EXPECT_LT(of_.follow(off, 0.01, 0.01), 0.03);
  EXPECT_NEAR(of_.spread(), 0.01, 0.004);
  for (int i = 0; i < 500; ++i) tell(step_ns * (1 + 0.0002 * i) * noisy(0.001));
  EXPECT_NEAR(of_.follow(off, 0.001, 0.001), 0.05, 0.01);
}

TEST_F(forecast, foretells_a_step_by_its_work) {
  for (double const fixed : {0.0, 0.3, 1.0}) {
    of_ = {};
    double square = 0;
    for (int i = 0; i < 1'000; ++i) {
      double const work = std::exp(0.3 * normal_(random_));
      double const off = tell(step_ns * (fixed + (1 - fixed) * work) * noisy(0.01), 4'096 * work);
      if (i >= 200) square += off * off / 800;
    }
    EXPECT_LT(std::sqrt(square), 0.013) << fixed;
  }
}

TEST_F(forecast, first_spells_of_unusual_work_are_no_measure) {
  for (double const times : {0.01, 0.1, 20.0, 50.0}) {
    of_ = {};
    double square = 0;
    for (int i = 0; i < 1'000; ++i) {
      double const work = (i == 0 ? times : 1) * std::exp(0.3 * normal_(random_));
      double const off = tell(step_ns * (0.1 + 0.9 * work) * noisy(0.01), 4'096 * work);
      if (i >= 400) square += off * off / 600;
    }
    EXPECT_LT(std::sqrt(square), 0.02) << times;
  }
}

TEST_F(forecast, follows_work_that_grows_or_shrinks_sixtyfold) {
  for (double const way : {4.2, -4.2}) {
    of_ = {};
    double square = 0;
    for (int i = 0; i < 4'000; ++i) {
      double const work = std::exp(way * i / 4'000 + 0.3 * normal_(random_));
      double const off = tell(step_ns * work * noisy(0.01), 4'096 * work);
      if (i >= 1'000) square += off * off / 3'000;
    }
    EXPECT_LT(std::sqrt(square), 0.05) << way;
  }
}

TEST_F(forecast, learns_at_once_how_much_of_a_length_is_work) {
  double square = 0;
  for (int i = 0; i < 300; ++i) {
    double const work = normal_(random_) > 0 ? 1 : 0.1;
    double const off = tell(step_ns * (0.3 + 0.7 * work) * noisy(0.01), work);
    if (i >= 60) square += off * off / 240;
  }
  EXPECT_LT(std::sqrt(square), 0.03);
}

TEST_F(forecast, work_that_is_told_from_some_step_on_is_used_from_there_on) {
  for (int i = 0; i < 100; ++i) tell(step_ns);
  double square = 0;
  for (int i = 0; i < 600; ++i) {
    double const work = std::exp(0.3 * normal_(random_));
    double const off = tell(step_ns * work, 100 * work);
    if (i >= 300) square += off * off / 300;
  }
  EXPECT_LT(std::sqrt(square), 0.03);
}

TEST_F(forecast, work_that_says_nothing_does_little_harm) {
  double square = 0;
  for (int i = 0; i < 1'000; ++i) {
    double const off = tell(step_ns * noisy(0.01), std::exp(0.3 * normal_(random_)));
    if (i >= 200) square += off * off / 800;
  }
  EXPECT_LT(std::sqrt(square), 0.015);
}

}  // namespace
}  // namespace lull
