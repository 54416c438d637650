// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/detail/gate/history.hpp>
#include <lull/host/detail/gate/site_table.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using verdict = history::verdict;

constexpr int remembered = 8;

harvest_seen good() { return {.length = 1ms, .start = 5us, .working = 10, .chunks = 100, .handed_back = 0}; }
void add(history& to, harvest_seen const& seen, int times) {
  for (int i = 0; i < times; ++i) to.add(seen);
}

verdict next(history& of) {
  of.begin_bubble();
  return of.judge();
}

bool next_is_better_at_open(history& of) {
  of.begin_bubble();
  return of.better_at_open();
}

TEST(history, a_site_of_which_nothing_is_known_is_harvested) {
  history site;
  EXPECT_EQ(site.longest(), 0ns);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(next(site), verdict::harvest);
}

using all_of = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;

/// Shortest, spread, from and until, in microseconds.
all_of usual_us(history const& site) {
  usual_length const found = site.usual_bubble();
  return {found.min_ns / 1'000, found.spread_ns / 1'000, found.from_ns / 1'000, found.until_ns / 1'000};
}

TEST(history, the_usual_length_is_known_from_eight_bubbles_and_goes_by_thirty_two) {
  history site;
  for (int i = 1; i < remembered; ++i) {
    site.add_length(1ms + i * 10us);
    EXPECT_EQ(usual_us(site), all_of(0, 0, 0, 0));
  }
  site.add_length(9ms);
  EXPECT_EQ(usual_us(site), all_of(1010, 60, 1010, 1070)) << "the long one is of another kind";
  for (int i = 0; i < 31; ++i) site.add_length(2ms);
  EXPECT_EQ(usual_us(site), all_of(2000, 0, 2000, 2000)) << "the long one is still remembered";
}

TEST(history, of_two_kinds_of_bubbles_the_shorter_repeats_where_it_is_half_of_them) {
  history site;
  for (int i = 0; i < 32; ++i) site.add_length((i % 2 == 0 ? 20ms : 24ms) + i * 5us);
  EXPECT_EQ(usual_us(site), all_of(20'000, 150, 20'000, 20'150));
  site.add_length(24ms);
  EXPECT_EQ(usual_us(site), all_of(20'010, 155, 24'000, 24'155)) << "17 of 32";
}

TEST(history, one_bubble_that_was_short_does_not_hide_that_the_others_repeat) {
  history site;
  for (int i = 0; i < 31; ++i) site.add_length(20ms + i * 10us);
  site.add_length(3ms);
  EXPECT_EQ(usual_us(site), all_of(3'000, 300, 20'000, 20'300));
}

/// Each close came at 600 us, and was seen after pieces of up to 250 us.
TEST(history, lengths_whose_ends_were_seen_late_repeat_where_they_may_have_been_alike) {
  history late;
  history in_time;
  for (int i = 0; i < 32; ++i) {
    auto const piece = 10us + i % 8 * 30us;
    late.add_length(600us + piece, piece + 5us);
    in_time.add_length(600us + piece);
  }
  EXPECT_EQ(usual_us(late), all_of(610, 0, 610, 610));
  EXPECT_EQ(usual_us(in_time), all_of(610, 210, 610, 820));
}

TEST(history, one_that_was_surely_longer_does_not_hide_those_that_may_not_have_been) {
  history site;
  for (int i = 0; i < 15; ++i) site.add_length(600us);
  site.add_length(900us);
  for (int i = 0; i < 16; ++i) site.add_length(1'000us, 450us);
  EXPECT_EQ(usual_us(site), all_of(600, 0, 600, 600));
}

TEST(history, a_length_that_was_surely_longer_is_of_another_kind) {
  history site;
  for (int i = 0; i < 32; ++i) site.add_length(i % 4 == 0 ? 2ms : 600us, 100us);
  EXPECT_EQ(usual_us(site), all_of(600, 0, 600, 600));
  harvest_seen seen = good();
  seen.length = 2ms;
  seen.since_look = 1300us;
  add(site, seen, 32);
  EXPECT_EQ(usual_us(site), all_of(2'000, 0, 2'000, 2'000));
  site.add_length(600us);
  EXPECT_EQ(usual_us(site), all_of(600, 100, 600, 700)) << "2 ms may have been 700 us";
}

TEST(history, lengths_that_do_not_repeat_have_the_spread_of_three_of_four) {
  history site;
  for (int i = 0; i < 32; ++i) site.add_length(20ms + i * 400us);
  EXPECT_EQ(usual_us(site), all_of(20'000, 23 * 400, 0, 0));
}

TEST(history, short_bubbles_are_passed_over_and_measured_again) {
  history site;
  for (int i = 0; i < remembered; ++i) {
    EXPECT_EQ(next(site), verdict::harvest);
    site.add_length(29us);
  }
  int harvested = 0;
  for (int i = 0; i < 640; ++i) harvested += next(site) == verdict::harvest ? 1 : 0;
  EXPECT_EQ(harvested, 10);
  site.add_length(31us);
  EXPECT_EQ(next(site), verdict::harvest);
}

TEST(history, a_site_where_all_is_handed_back_is_left_alone) {
  history site;
  harvest_seen all_back = good();
  all_back.chunks = 0;
  all_back.handed_back = 10;
  add(site, all_back, remembered - 1);
  EXPECT_EQ(next(site), verdict::harvest);
  add(site, all_back, 1);
  EXPECT_EQ(next(site), verdict::handed_back);
  add(site, good(), 1);
  EXPECT_EQ(next(site), verdict::harvest);
}

TEST(history, bubbles_without_a_job_hand_nothing_back) {
  history site;
  harvest_seen nothing{};
  nothing.length = 1ms;
  add(site, nothing, 3 * remembered);
  EXPECT_EQ(next(site), verdict::harvest);
  EXPECT_FALSE(next_is_better_at_open(site));
}

TEST(history, late_starts_ask_for_a_launch_at_open) {
  history site;
  harvest_seen late = good();
  late.start = 501us;
  add(site, late, remembered);  // by the forecast: the host was in time
  EXPECT_FALSE(next_is_better_at_open(site));
  late.host_late = true;
  add(site, late, remembered - 1);
  EXPECT_FALSE(next_is_better_at_open(site));
  add(site, late, 1);
  EXPECT_TRUE(next_is_better_at_open(site));
  harvest_seen early = good();
  early.at_open = true;
  add(site, early, remembered);  // launched at open: says nothing about the host
  EXPECT_TRUE(next_is_better_at_open(site));
  add(site, good(), 1);
  EXPECT_FALSE(next_is_better_at_open(site));
}

TEST(history, bubbles_that_were_over_when_the_host_closed_them_ask_for_it_too) {
  history site;
  add(site, {.length = 0ns, .start = 0ns, .working = 0, .host_late = true}, remembered);
  EXPECT_TRUE(next_is_better_at_open(site));
}

TEST(history, half_of_a_very_short_bubble_is_not_late) {
  history site;
  harvest_seen brief = good();
  brief.length = 60us;
  brief.start = 49us;
  brief.host_late = true;
  add(site, brief, remembered);
  EXPECT_FALSE(next_is_better_at_open(site));
}

TEST(history, one_bubble_in_64_tries_the_close_again) {
  history site;
  harvest_seen late = good();
  late.start = 900us;
  late.host_late = true;
  add(site, late, remembered);
  int at_close = 0;
  for (int i = 0; i < 640; ++i) at_close += next_is_better_at_open(site) ? 0 : 1;
  EXPECT_EQ(at_close, 10);
}

TEST(history, of_another_shortest_bubble_goes_by_it) {
  for (auto const& [shortest, length, found] :
       {std::tuple{100us, 99us, verdict::too_short}, {100us, 100us, verdict::harvest}, {0us, 0us, verdict::harvest}}) {
    history site{{.min_bubble = shortest}};
    EXPECT_EQ(site.shortest_worth_it(), shortest);
    for (int i = 0; i < remembered; ++i) site.add_length(length);
    site.begin_bubble();
    EXPECT_EQ(site.judge(), found) << shortest.count();
  }
}

TEST(history, work_rests_before_bubbles_that_are_alike_usually_close) {
  history site;
  EXPECT_EQ(site.rest().until_ns, 0U);  // nothing is known
  for (int i = 0; i < remembered; ++i) site.add_length(1000us + i * 1us);
  EXPECT_EQ(site.rest().from_ns, 990'000U);
  EXPECT_EQ(site.rest().until_ns, 1'027'000U);  // as late as a close that is no later than usual may be
}

TEST(history, work_does_not_rest_where_that_would_take_much_of_the_bubble) {
  for (auto const& [length, spread, rests] :
       {std::tuple{80us, 0us, true}, {79us, 0us, false}, {800us, 90us, true}, {800us, 91us, false}}) {
    history site{{.rest_before_close = 10us}};
    for (int i = 0; i < remembered; ++i) site.add_length(length + i % 2 * spread);
    EXPECT_EQ(site.rest().until_ns != 0, rests) << length.count() << " + " << spread.count();
  }
  history never{{.rest_before_close = 0us}};
  history of_hours;
  for (int i = 0; i < remembered; ++i) {
    never.add_length(1ms);
    of_hours.add_length(5s);
  }
  EXPECT_EQ(never.rest().until_ns, 0U);
  EXPECT_EQ(of_hours.rest().until_ns, 0U);  // more than its words hold
}

TEST(history, questions_change_nothing) {
  history site;
  for (int i = 0; i < remembered; ++i) site.add_length(29us);
  site.begin_bubble();
  history const& asked = site;
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(asked.judge(), verdict::too_short);
    EXPECT_FALSE(asked.better_at_open());
  }
}

TEST(hold_ups, are_closes_soon_after_the_last_block_for_that_lease) {
  EXPECT_TRUE(hold_ups::is_one(0ns, 8ms));
  EXPECT_TRUE(hold_ups::is_one(1ms - 1ns, 8ms));
  EXPECT_FALSE(hold_ups::is_one(1ms, 8ms));
  EXPECT_FALSE(hold_ups::is_one(-1ns, 8ms)) << "the close came first";
}

TEST(hold_ups, the_second_in_a_row_tells_and_the_count_begins_again) {
  hold_ups seen;
  std::string told;
  for (bool held_up : {true, false, true, true, true, true, false}) {
    seen.add(held_up);
    told += seen.twice() ? '2' : '-';
  }
  EXPECT_EQ(told, "---2-2-");
}

TEST(history, a_site_is_worth_it_where_it_brings_so_much_more_than_its_edges_and_the_drain_cost) {
  history site{{.training_worth = 30}};
  EXPECT_EQ(site.shortest_worth_it(), 9us + 30 * (4us + 8us)) << "until a drain was measured";
  harvest_seen seen{.length = 380us, .working = 1, .chunks = 1, .drain = 8us};
  add(site, seen, 2 * remembered);
  EXPECT_EQ(next(site), verdict::harvest);
  seen.length = 360us;
  add(site, seen, remembered);
  EXPECT_EQ(next(site), verdict::too_short);
  seen.drain = 4us;
  add(site, seen, 4 * remembered);
  EXPECT_EQ(next(site), verdict::harvest) << "workers leave sooner now";
}

TEST(history, bubbles_that_workers_come_too_late_for_are_short_and_have_no_usual_length) {
  history site;
  add(site, {.working = 0, .came_late = true}, remembered - 1);
  EXPECT_EQ(next(site), verdict::harvest);
  add(site, {.working = 0, .came_late = true}, 1);
  EXPECT_EQ(next(site), verdict::too_short);
  EXPECT_EQ(site.usual_bubble().min_ns, 0U);
  add(site, good(), 1);
  EXPECT_EQ(next(site), verdict::harvest);
}

TEST(history, a_rare_long_bubble_is_worth_the_short_ones_around_it) {
  history site{{.training_worth = 30}};
  for (int i = 0; i < 4 * remembered; ++i) site.add_length(i % remembered == 3 ? 5ms : 20us);
  EXPECT_EQ(next(site), verdict::harvest);
  for (int i = 0; i < 4 * remembered; ++i) site.add_length(i % remembered == 3 ? 1ms : 20us);
  EXPECT_EQ(next(site), verdict::too_short);
}

TEST(history, where_training_is_worth_nothing_the_floor_alone_holds) {
  history site{{.min_bubble = 30us, .training_worth = 0}};
  for (int i = 0; i < remembered; ++i) site.add_length(31us);
  EXPECT_EQ(next(site), verdict::harvest);
  EXPECT_EQ((site_limits{.min_bubble = 1ms, .training_worth = 30}.shortest_worth_it()), 1ms);
}

TEST(site_table, forgets_the_site_that_was_used_longest_ago) {
  detail::site_table sites{{}};
  std::shared_ptr<detail::site_state> const first = sites.find("first");
  for (std::size_t i = 1; i < detail::site_table::max_sites; ++i) sites.find(std::to_string(i));
  EXPECT_EQ(sites.find("first"), first);
  sites.find("one more");
  EXPECT_EQ(sites.find("first"), first) << "it was used a moment ago";
  std::shared_ptr<detail::site_state> const again = sites.find("1");
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->name, "1");
  EXPECT_EQ(again.use_count(), 2) << "it was forgotten, and is a new one";
  EXPECT_EQ(sites.find("1"), again);
}

TEST(history, leases_at_close_have_bounds) {
  EXPECT_EQ(lease_at_close(0ns), 2s);
  EXPECT_EQ(lease_at_close(1us), 50ms);
  EXPECT_EQ(lease_at_close(20ms), 80ms);
  EXPECT_EQ(lease_at_close(10s), 2s);
}

}  // namespace
}  // namespace lull
