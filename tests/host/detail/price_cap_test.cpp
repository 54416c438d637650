// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

#include <lull/host/detail/gate/history.hpp>
#include <lull/host/detail/gate/price_cap.hpp>

namespace lull::detail {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds price = 8us;

/// A bubble of that length comes each period. Returns the share of the time that the harvested ones cost.
double cost_of(price_cap& cap, nanoseconds length, nanoseconds period, nanoseconds time, double training_worth = 30) {
  site_limits const limits{.training_worth = training_worth};
  nanoseconds paid{0};
  for (nanoseconds at{0}; at < time; at += period) {
    bool const is_worth_it = length >= limits.shortest_worth_it(price - site_limits::edges, cap.times());
    if (is_worth_it) paid += price;
    cap.add(at, is_worth_it ? price : 0us);
  }
  return static_cast<double>(paid.count()) / static_cast<double>(time.count());
}

TEST(price_cap, asks_no_more_where_bubbles_cost_little) {
  price_cap cap;
  EXPECT_NEAR(cost_of(cap, 300us, 1ms, 20s), 0.008, 1e-4);
  EXPECT_EQ(cap.times(), 1);
}

TEST(price_cap, keeps_what_bubbles_cost_below_a_hundredth_of_the_time) {
  for (nanoseconds const period : {310us, 400us, 600us, 790us}) {
    price_cap cap;
    double const cost = cost_of(cap, 300us, period, 60s);
    EXPECT_LE(cost, 0.01) << period.count();
    EXPECT_GE(cost, 0.002) << period.count();
  }
}

TEST(price_cap, leaves_the_longer_bubbles_of_a_step) {
  price_cap cap;
  site_limits const limits{.training_worth = 30};
  int long_ones = 0;
  int short_ones = 0;
  nanoseconds at{0};
  for (int step = 0; step < 10'000; ++step) {
    for (int bubble = 0; bubble < 9; ++bubble, at += 500us) {
      nanoseconds const length = bubble == 8 ? 4ms : 300us;
      bool const is_worth_it = length >= limits.shortest_worth_it(price - site_limits::edges, cap.times());
      if (is_worth_it) ++(bubble == 8 ? long_ones : short_ones);
      cap.add(at, is_worth_it ? price : 0us);
    }
  }
  EXPECT_EQ(long_ones, 10'000);
  EXPECT_LT(short_ones, 10'000 * 8 / 2);
}

TEST(price_cap, a_pause_of_the_trainer_is_no_licence) {
  price_cap cap;
  cost_of(cap, 300us, 320us, 1s);
  double const before = cap.times();
  EXPECT_GT(before, 1);
  cap.add(3600s, 0us);
  EXPECT_GE(cap.times(), before / 1.3);
}

TEST(price_cap, training_that_is_worth_nothing_has_none) {
  price_cap cap;
  EXPECT_NEAR(cost_of(cap, 300us, 310us, 1s, 0), 8.0 / 310, 1e-3);
}

}  // namespace
}  // namespace lull::detail
