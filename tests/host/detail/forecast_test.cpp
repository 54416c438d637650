// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/gate/forecast.hpp>

#include <gtest/gtest.h>

namespace lull::detail {
namespace {

using namespace std::chrono_literals;
using time_point = device_clock::time_point;

constexpr int one = 1;
constexpr int other = 2;
constexpr auto distance = 320ms;

TEST(forecast, knows_nothing_after_one_bubble) {
  forecast opens;
  opens.add(&one, 5ms, 3ms);
  EXPECT_FALSE(opens.after_opening(&one));
  EXPECT_FALSE(opens.after_close(&one));
}

TEST(forecast, tells_the_median_after_the_same_site) {
  forecast opens;
  for (auto const length : {5ms, 5ms, 40ms, 5ms, 6ms}) opens.add(&one, length, length - 2ms);
  EXPECT_EQ(opens.after_opening(&one), 5ms);
  EXPECT_EQ(opens.after_close(&one), 3ms);
  EXPECT_FALSE(opens.after_opening(&other));
}

TEST(forecast, of_two_in_the_middle_expects_the_sooner) {
  forecast opens;
  opens.add(&one, 5ms, 3ms);
  opens.add(&one, 500ms, 498ms);  // a pause that nothing told of
  EXPECT_EQ(opens.after_opening(&one), 5ms);
  EXPECT_EQ(opens.after_close(&one), 3ms);
}

TEST(forecast, knows_what_came_after_four_sites) {
  forecast opens;
  int const sites[5] = {};
  for (int i = 0; i < 4; ++i) {
    for (int times = 0; times < 2; ++times) opens.add(&sites[i], std::chrono::milliseconds{i + 1}, std::nullopt);
  }
  for (int i = 0; i < 4; ++i) EXPECT_EQ(opens.after_opening(&sites[i]), std::chrono::milliseconds{i + 1});
  EXPECT_FALSE(opens.after_close(&sites[0]));
  for (int times = 0; times < 2; ++times) opens.add(&sites[4], 9ms, std::nullopt);
  EXPECT_EQ(opens.after_opening(&sites[4]), 9ms);
  EXPECT_FALSE(opens.after_opening(&sites[0]));
  EXPECT_EQ(opens.after_opening(&sites[1]), 2ms);
}

TEST(forecast, follows_a_trainer_that_has_become_slower) {
  forecast opens;
  for (int i = 0; i < 20; ++i) opens.add(&one, 5ms, std::nullopt);
  for (int i = 0; i < 5; ++i) opens.add(&one, 7ms, std::nullopt);
  EXPECT_EQ(opens.after_opening(&one), 7ms);
}

TEST(forecast, each_miss_asks_for_more_time_and_many_hits_in_a_row_for_less) {
  forecast opens;
  auto const first = opens.ahead(distance);
  opens.note(false);
  EXPECT_EQ(opens.ahead(distance), first + forecast::longer_by);
  for (int i = 1; i < forecast::shorter_after; ++i) opens.note(true);
  EXPECT_EQ(opens.ahead(distance), first + forecast::longer_by);
  opens.note(true);
  EXPECT_LT(opens.ahead(distance), first + forecast::longer_by);
  for (int i = 0; i < 100'000; ++i) opens.note(true);
  EXPECT_LT(opens.ahead(distance), forecast::min_launch + forecast::unknown_error + 1us);
  for (int i = 0; i < 1'000; ++i) opens.note(false);
  EXPECT_EQ(opens.ahead(distance), forecast::max_launch + forecast::unknown_error);
}

TEST(forecast, hits_before_a_miss_do_not_count) {
  forecast opens;
  for (int i = 0; i < forecast::shorter_after - 1; ++i) opens.note(true);
  opens.note(false);
  auto const after_the_miss = opens.ahead_of_call(0ns);
  for (int i = 0; i < forecast::shorter_after - 1; ++i) opens.note(true);
  EXPECT_EQ(opens.ahead_of_call(0ns), after_the_miss);
  opens.note(true);
  EXPECT_LT(opens.ahead_of_call(0ns), after_the_miss);
}

TEST(forecast, asks_for_as_much_time_as_bubbles_opened_early_lately) {
  forecast opens;
  EXPECT_GE(opens.ahead(distance), forecast::unknown_error);
  for (int i = 0; i < 8; ++i) opens.add(&one, 5ms, 3ms);
  auto const steady = opens.ahead(distance);
  EXPECT_LT(steady, forecast::unknown_error);
  opens.add(&one, 5ms, 2'700us);
  EXPECT_EQ(opens.ahead(distance), steady + 300us);
  for (int i = 0; i < 31; ++i) opens.add(&one, 6ms, 4ms);  // later than expected: no reason to come earlier
  EXPECT_EQ(opens.ahead(distance), steady + 300us);
  opens.add(&one, 6ms, 4ms);
  EXPECT_EQ(opens.ahead(distance), steady);
}

TEST(forecast, one_bubble_that_opened_far_too_early_asks_for_no_more_than_a_share_of_the_distance) {
  forecast opens;
  for (int i = 0; i < 8; ++i) opens.add(&one, 500ms, 400ms);
  auto const steady = opens.ahead(distance);
  opens.add(&one, 200ms, 100ms);
  EXPECT_EQ(opens.ahead(distance), steady + 10ms);
  EXPECT_EQ(opens.ahead(40ms), steady + 2ms);
  EXPECT_EQ(opens.ahead(1h), steady + 250ms);
}

TEST(forecast, stands_for_no_more_than_a_sixteenth_of_a_short_distance) {
  forecast opens;
  for (int i = 0; i < 8; ++i) opens.add(&one, 8ms, 5ms);
  opens.add(&one, 6ms, 3ms);  // as early as is worth 2 ms of any distance
  EXPECT_EQ(opens.ahead(8ms), 500us);
  for (int i = 0; i < 1'000; ++i) opens.note(false);  // nor do misses ask for more
  EXPECT_EQ(opens.ahead(8ms), 500us);
  EXPECT_EQ(opens.ahead(1ms), 2 * forecast::min_launch) << "less is no use to a launch";
}

TEST(forecast, after_a_pause_counts_from_the_hosts_call) {
  forecast opens;
  EXPECT_FALSE(opens.after_call());
  opens.add_after_pause(17ms);
  EXPECT_EQ(opens.after_call(), 17ms);
  opens.add_after_pause(16ms);
  opens.add_after_pause(16ms);
  EXPECT_EQ(opens.after_call(), 16ms);
}

TEST(forecast, after_a_pause_comes_earlier_by_as_much_as_the_hosts_lead_varies) {
  forecast opens;
  for (int i = 0; i < 8; ++i) opens.add(&one, 5ms, 3ms);
  auto const steady = opens.ahead(distance);
  opens.add_after_pause(40ms);
  opens.add_after_pause(37ms);
  EXPECT_EQ(opens.ahead_of_call(40ms), steady + 5ms);
  EXPECT_EQ(opens.ahead(distance), steady) << "a pause says nothing of other bubbles";
}

TEST(device_clock, takes_the_least_difference) {
  device_clock clock;
  EXPECT_FALSE(clock.at(1));
  time_point const start{100s};
  clock.note(5'000, start + 5'900ns);
  clock.note(7'000, start + 7'200ns);  // was told of it sooner
  clock.note(9'000, start + 9'700ns);
  EXPECT_EQ(clock.at(20'000), start + 20'200ns);
}

TEST(device_clock, forgets_what_was_before_a_long_silence) {
  device_clock clock;
  clock.note(0, time_point{10s});
  clock.note(5'000'000'000, time_point{15s + 10ms});
  EXPECT_EQ(clock.at(5'000'000'000), time_point{15s + 10ms});
}

TEST(device_clock, forgets_after_two_windows) {
  device_clock clock;
  time_point const start{100s};
  clock.note(0, start);
  clock.note(1'500'000'000, start + 1500ms + 40us);  // the device's clock is slower
  EXPECT_EQ(clock.at(0), start);
  clock.note(2'600'000'000, start + 2600ms + 70us);
  EXPECT_EQ(clock.at(0), start + 40us);
}

}  // namespace
}  // namespace lull::detail
