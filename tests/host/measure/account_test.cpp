// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <lull/host/measure/account.hpp>

namespace lull {
namespace {

constexpr std::uint64_t blocks = 10;
constexpr std::uint64_t length_ns = 1'000'000;
constexpr std::uint64_t opened_ns = 5'000'000;
// An item a ns on all processors, so that harvested items are harvested ns of the bubble.
constexpr solo_speed speed{1e9, 1e9, 0};

/// A bubble in which every block works from the opening to the close.
replayed_bubble perfect() {
  replayed_bubble one;
  one.number = 1;
  one.moments = {opened_ns, opened_ns + length_ns, std::nullopt};
  one.harvested.emplace();
  one.harvested->current.launched = blocks;
  bubble_record& record = one.harvested->current.record;
  record.bubble = 1;
  record.opened_ns = opened_ns;
  record.last_in_ns = opened_ns;
  record.not_saw_ns = ~(opened_ns + length_ns);
  record.last_out_ns = opened_ns + length_ns;
  record.stay_ns = blocks * length_ns;
  record.chunks = 1000;
  record.items = length_ns;
  record.blocks = blocks;
  return one;
}

bubble_record& record_of(replayed_bubble& one) { return one.harvested->current.record; }

/// What was harvested and what was lost are the bubbles' time, and of the causes only these are found, in µs.
void expect_lost(harvest_account const& found, std::vector<std::pair<lost_cause, double>> const& causes) {
  double lost_us = 0;
  for (std::size_t i = 0; i < lost_causes; ++i) {
    auto const cause = static_cast<lost_cause>(i);
    double expected = 0;
    for (auto const& [which, us] : causes) expected += which == cause ? us : 0;
    EXPECT_NEAR(found.gain.lost(cause).value(), expected, 1e-6) << name_of(cause);
    lost_us += *found.gain.lost(cause);
  }
  double const total_us = *found.bubbles.total_ms * 1e3;
  EXPECT_NEAR(lost_us, total_us * (1 - *found.gain.ratio), 1e-6);
}

TEST(account, a_perfect_bubble_loses_nothing) {
  harvest_account const found = account_of({perfect(), perfect()}, speed);
  expect_lost(found, {});
  EXPECT_DOUBLE_EQ(*found.gain.ratio, 1);
  EXPECT_DOUBLE_EQ(*found.gain.ratio_excluding_reserved, 1);
  EXPECT_EQ(found.items, 2 * length_ns);
  EXPECT_EQ(found.bubbles.count, 2U);
  EXPECT_EQ(found.bubbles.harvested, 2U);
  EXPECT_EQ(found.start_us.n, 2U);
  EXPECT_EQ(found.drain_us.n, 0U);  // nobody was out after the close
}

TEST(account, start_is_the_time_to_the_first_chunk) {
  replayed_bubble one = perfect();
  record_of(one).in_ns = blocks * 50'000;
  record_of(one).stay_ns -= blocks * 50'000;
  record_of(one).items -= 50'000;
  record_of(one).last_in_ns += 60'000;
  harvest_account const found = account_of({one}, speed);
  expect_lost(found, {{lost_cause::start, 50}});
  EXPECT_DOUBLE_EQ(*found.start_us.max, 60);
}

TEST(account, who_finds_no_chunk_before_the_close_has_not_started) {
  replayed_bubble one = perfect();
  record_of(one).blocks = 0;
  record_of(one).stay_ns = 0;
  record_of(one).chunks = 0;
  record_of(one).items = 0;
  expect_lost(account_of({one}, speed), {{lost_cause::start, 1000}});
}

TEST(account, drain_is_the_time_after_the_close_and_what_is_done_in_it_counts) {
  replayed_bubble one = perfect();
  record_of(one).stay_ns += blocks * 8'000;
  record_of(one).last_out_ns += 9'000;
  harvest_account const wasted = account_of({one}, speed);
  expect_lost(wasted, {{lost_cause::drain, 8}, {lost_cause::slower, -8}});
  EXPECT_DOUBLE_EQ(*wasted.drain_us.max, 9);
  record_of(one).items -= 30'000;
  expect_lost(account_of({one}, speed), {{lost_cause::drain, 8}, {lost_cause::slower, 22}});
}

TEST(account, blocks_launched_after_the_close_were_late) {
  replayed_bubble one = perfect();
  record_of(one).blocks = 4;
  record_of(one).late_blocks = 6;
  record_of(one).stay_ns = 4 * length_ns;
  record_of(one).items = length_ns * 4 / 10;
  expect_lost(account_of({one}, speed), {{lost_cause::host_late, 600}});
}

TEST(account, a_successor_that_comes_after_the_close_costs_nothing) {
  replayed_bubble one = perfect();
  record_of(one).late_blocks = blocks;
  expect_lost(account_of({one}, speed), {});
}

TEST(account, a_bubble_that_was_passed_over_is_lost_to_its_cause) {
  for (lost_cause const cause : {lost_cause::too_short, lost_cause::no_job, lost_cause::host_late}) {
    replayed_bubble passed_over;
    passed_over.cause = cause;
    passed_over.moments = {opened_ns, opened_ns + 20'000};
    harvest_account const found = account_of({perfect(), passed_over}, speed);
    expect_lost(found, {{cause, 20}});
    EXPECT_EQ(found.bubbles.skipped, 1U);
  }
}

/// All blocks left by themselves after 300 µs.
void leave_early(replayed_bubble& one) {
  record_of(one).not_saw_ns = 0;
  record_of(one).early_ns = blocks * 300'000;
  record_of(one).stay_ns = blocks * 300'000;
  record_of(one).items = 300'000;
}

TEST(account, a_job_that_ends_without_a_successor_leaves_no_job) {
  replayed_bubble one = perfect();
  record_of(one).idle_blocks = blocks;
  leave_early(one);
  harvest_account const found = account_of({one}, speed);
  expect_lost(found, {{lost_cause::no_job, 700}});
  EXPECT_EQ(found.start_us.n, 0U);
}

TEST(account, a_task_without_input_is_starved) {
  replayed_bubble one = perfect();
  record_of(one).starved_blocks = blocks;
  leave_early(one);
  expect_lost(account_of({one}, speed), {{lost_cause::starved, 700}});
}

TEST(account, a_successor_makes_good_for_the_job_that_ended) {
  replayed_bubble one = perfect();
  record_of(one).blocks = 2 * blocks;  // the first until 300 µs, then the successor from 320 µs
  record_of(one).idle_blocks = blocks;
  record_of(one).early_ns = blocks * 300'000;
  record_of(one).in_ns = blocks * 320'000;
  record_of(one).stay_ns = blocks * (300'000 + 680'000);
  record_of(one).items = 980'000;
  expect_lost(account_of({one}, speed), {{lost_cause::start, 20}});
}

/// The first job until 300 µs, then its successor from 320 µs to 800 µs, whose blocks leave for these reasons.
replayed_bubble two_that_end(std::uint32_t idle, std::uint32_t starved, std::uint32_t lease) {
  replayed_bubble one = perfect();
  leave_early(one);
  record_of(one).idle_blocks = blocks;
  record_of(one).items = 780'000;
  one.harvested->successor.launched = blocks;
  bubble_record& successor = one.harvested->successor.record;
  successor.blocks = blocks;
  successor.idle_blocks = idle;
  successor.starved_blocks = starved;
  successor.lease_blocks = lease;
  successor.in_ns = blocks * 320'000;
  successor.stay_ns = blocks * 480'000;
  successor.early_ns = blocks * 800'000;
  return one;
}

TEST(account, after_a_successor_that_ends_too_there_is_no_job) {
  expect_lost(account_of({two_that_end(blocks, 0, 0)}, speed), {{lost_cause::start, 20}, {lost_cause::no_job, 200}});
}

TEST(account, what_a_successor_misses_has_its_own_causes) {
  expect_lost(account_of({two_that_end(0, blocks, 0)}, speed), {{lost_cause::start, 20}, {lost_cause::starved, 200}});
  expect_lost(account_of({two_that_end(5, 0, 5)}, speed),
              {{lost_cause::start, 20}, {lost_cause::no_job, 100}, {lost_cause::lease, 100}});
  replayed_bubble one = two_that_end(blocks, 0, 0);
  std::swap(record_of(one).idle_blocks, record_of(one).starved_blocks);
  expect_lost(account_of({one}, speed), {{lost_cause::start, 20}, {lost_cause::no_job, 200}});
}

TEST(account, a_successor_makes_good_for_a_job_that_starves_from_the_opening_on) {
  replayed_bubble one = perfect();
  record_of(one).starved_blocks = blocks;
  record_of(one).early_ns = blocks * 5'000;
  record_of(one).in_ns = blocks * 20'000;  // the successor's
  record_of(one).stay_ns = blocks * 980'000;
  record_of(one).items = 980'000;
  expect_lost(account_of({one}, speed), {{lost_cause::start, 20}});
  // Four blocks of the first job had a chunk until 300 µs, six waited; then the successor comes, from 320 µs.
  record_of(one).blocks = 4 + blocks;
  record_of(one).early_ns = blocks * 300'000;
  record_of(one).in_ns = blocks * 320'000;
  record_of(one).stay_ns = 4 * 300'000 + blocks * 680'000;
  record_of(one).items = 4 * 30'000 + 680'000;
  expect_lost(account_of({one}, speed), {{lost_cause::start, 200}});
}

TEST(account, a_successor_of_fewer_blocks_makes_good_for_all_that_went) {
  replayed_bubble one = perfect();
  one.harvested->successor.launched = 4;
  bubble_record& successor = one.harvested->successor.record;
  successor.blocks = 4;
  successor.in_ns = 4 * 20'000;
  successor.stay_ns = 4 * 980'000;
  record_of(one).starved_blocks = blocks;
  record_of(one).early_ns = blocks * 5'000;
  record_of(one).blocks = 0;
  record_of(one).in_ns = 0;
  record_of(one).stay_ns = 0;
  record_of(one).items = 980'000;
  expect_lost(account_of({one}, speed), {{lost_cause::start, 20}});
}

TEST(account, a_successor_s_blocks_that_come_a_bubble_late_count_as_the_others) {
  replayed_bubble one = perfect();
  one.harvested->successor.record.blocks = 5;
  one.harvested->successor.record.stay_ns = 5 * length_ns;
  record_of(one).blocks -= 5;
  record_of(one).stay_ns -= 5 * length_ns;
  EXPECT_DOUBLE_EQ(per_launched_block(*one.harvested, &bubble_record::stay_ns), length_ns);
  one.harvested->successor.launched = 5;
  EXPECT_DOUBLE_EQ(per_launched_block(*one.harvested, &bubble_record::stay_ns), 1.5 * length_ns);
}

TEST(account, blocks_that_came_late_are_no_part_of_what_others_missed) {
  replayed_bubble one = perfect();
  record_of(one).blocks = 5;
  record_of(one).late_blocks = 5;
  record_of(one).lease_blocks = 3;
  record_of(one).early_ns = 3 * 300'000;
  record_of(one).stay_ns = 3 * 300'000 + 2 * length_ns;
  record_of(one).items = 290'000;
  expect_lost(account_of({one}, speed), {{lost_cause::lease, 210}, {lost_cause::host_late, 500}});
}

TEST(account, what_is_done_behind_the_close_makes_good_for_nobody) {
  replayed_bubble one = perfect();
  record_of(one).lease_blocks = 5;
  record_of(one).early_ns = 5 * 850'000;
  record_of(one).stay_ns = 5 * 850'000 + 5 * 1'150'000;
  record_of(one).last_out_ns += 150'000;
  record_of(one).items = 925'000;
  expect_lost(account_of({one}, speed), {{lost_cause::lease, 75}});
  // A successor that starts late and leaves late.
  one = perfect();
  record_of(one).starved_blocks = blocks;
  record_of(one).early_ns = blocks * 5'000;
  record_of(one).in_ns = blocks * 20'000;
  record_of(one).stay_ns = blocks * 990'000;
  record_of(one).last_out_ns += 10'000;
  record_of(one).items = 980'000;
  expect_lost(account_of({one}, speed), {{lost_cause::start, 20}});
}

TEST(account, a_bubble_whose_job_went_before_a_worker_was_launched_had_none) {
  replayed_bubble one;
  one.number = 1;
  one.moments = perfect().moments;
  one.harvested.emplace().current.record.opened_ns = opened_ns;
  expect_lost(account_of({one}, {1e9, 0.9e9, 0}), {{lost_cause::no_job, 1000}});
}

TEST(account, a_bubble_of_a_withheld_iteration_is_lost_to_the_bound) {
  replayed_bubble one;
  one.number = 1;
  one.cause = lost_cause::withheld;
  one.moments = perfect().moments;
  one.harvested.emplace().current.record.opened_ns = opened_ns;
  harvest_account const found = account_of({one, perfect()}, speed);
  expect_lost(found, {{lost_cause::withheld, 1000}});
  EXPECT_EQ(found.bubbles.harvested, 1U);
}

TEST(account, leases_and_control_are_told_apart) {
  replayed_bubble one = perfect();
  record_of(one).lease_blocks = 6;
  record_of(one).held_blocks = 2;
  record_of(one).early_ns = 8 * 500'000;
  record_of(one).stay_ns = 8 * 500'000 + 2 * length_ns;
  record_of(one).items = 600'000;
  harvest_account const found = account_of({one}, speed);
  expect_lost(found, {{lost_cause::lease, 300}, {lost_cause::held, 100}});
  EXPECT_EQ(found.lease_blocks, 6U);
}

TEST(account, waiting_counts_where_it_is_more_than_alone) {
  replayed_bubble one = perfect();
  record_of(one).wait_ns = blocks * 120'000;
  record_of(one).items -= 120'000;
  expect_lost(account_of({one}, speed), {{lost_cause::phase_wait, 120}});
  solo_speed waits_too = speed;
  waits_too.wait_share = 0.1;
  expect_lost(account_of({one}, waits_too), {{lost_cause::phase_wait, 20}, {lost_cause::slower, 100}});
  // Over all bubbles: less waiting in one makes good for more in another.
  replayed_bubble none = perfect();
  record_of(one).wait_ns = blocks * 200'000;
  record_of(one).items = record_of(none).items;
  expect_lost(account_of({one, none}, waits_too), {});
  expect_lost(account_of({none}, waits_too), {});  // less than alone is no gain of its own
}

TEST(account, clocks_are_those_of_bubbles_that_tell_them) {
  EXPECT_FALSE(account_of({perfect()}, speed).gain.bubbles_sm_mhz.has_value());
  std::vector<replayed_bubble> bubbles(4, perfect());
  for (std::size_t b = 1; b < 4; ++b) bubbles[b].moments.sm_mhz = 1500.0 + 100.0 * static_cast<double>(b);
  EXPECT_EQ(account_of(bubbles, speed).gain.bubbles_sm_mhz, 1700.0);
}

TEST(account, rooms_are_what_the_task_alone_lost_by_them) {
  replayed_bubble one = perfect();
  record_of(one).items = 880'000;
  harvest_account const found = account_of({one}, {1e9, 0.9e9, 0});
  expect_lost(found, {{lost_cause::reserved_groups, 100}, {lost_cause::slower, 20}});
  EXPECT_NEAR(*found.gain.ratio, 0.88, 1e-9);
  EXPECT_NEAR(*found.gain.ratio_excluding_reserved, 0.88 / 0.9, 1e-9);
  // Blocks lose what their processors would have done, not what all would.
  record_of(one).in_ns = blocks * 20'000;
  record_of(one).stay_ns -= blocks * 20'000;
  record_of(one).items = 882'000;
  expect_lost(account_of({one}, {1e9, 0.9e9, 0}), {{lost_cause::reserved_groups, 100}, {lost_cause::start, 18}});
}

TEST(account, half_a_chunk_is_lost_with_each_that_is_begun_anew) {
  replayed_bubble one = perfect();
  record_of(one).chunks = 195;  // of 50 µs each, for 200 halves of 10 blocks × 1 ms
  record_of(one).handed_back = 10;
  record_of(one).items = 975'000;
  expect_lost(account_of({one}, speed), {{lost_cause::grain, 25}});
  // Where the ring was full a chunk runs again at once: its second run is drain, and it counts as done.
  record_of(one).handed_back = 4;
  record_of(one).refused = 6;
  record_of(one).chunks = 195 + 6;
  record_of(one).stay_ns += 6 * 50'000;
  record_of(one).items = 975'000 + 30'000;
  expect_lost(account_of({one}, speed), {{lost_cause::grain, 25}, {lost_cause::drain, 30}, {lost_cause::slower, -60}});
}

TEST(account, a_bubble_of_nothing_but_handed_back_chunks_is_lost_to_the_grain) {
  replayed_bubble one = perfect();
  record_of(one).chunks = 0;
  record_of(one).items = 0;
  record_of(one).handed_back = blocks;
  harvest_account const found = account_of({one}, speed);
  expect_lost(found, {{lost_cause::grain, 1000}});
  EXPECT_EQ(found.bubbles.harvested, 0U);
}

TEST(account, without_a_stand_alone_speed_nothing_is_said_of_losses) {
  harvest_account const found = account_of({perfect()}, {});
  EXPECT_FALSE(found.gain.ratio.has_value());
  for (auto const& lost : found.gain.lost_us) EXPECT_FALSE(lost.has_value());
  EXPECT_DOUBLE_EQ(*found.bubbles.total_ms, 1);
  EXPECT_FALSE(account_of({}, speed).gain.ratio.has_value());
}

TEST(account, of_several_tasks_is_the_sum_of_each_by_its_own_speed) {
  // In one bubble of 1 ms: 0.25 ms of a task that does an item a ns, and 0.5 ms of one that does an item in 10.
  std::vector<task_part> const parts{{{1e9, 0.5e9, 0.1}, length_ns / 4}, {{1e8, 1e8, 0.4}, length_ns / 20}};
  solo_speed const both = mixed(parts);
  replayed_bubble one = perfect();
  record_of(one).items = length_ns / 4 + length_ns / 20;
  harvest_account const found = account_of({one}, both);
  EXPECT_NEAR(*found.gain.ratio, 0.25 + 0.5, 1e-12);
  EXPECT_NEAR(*found.gain.ratio_excluding_reserved, 0.5 + 0.5, 1e-12);
  EXPECT_NEAR(both.wait_share, (0.1 + 0.4) / 2, 1e-12);  // they would take as long, with reserved groups
}

TEST(account, of_one_task_or_of_none_that_worked_is_as_before) {
  EXPECT_EQ(mixed({{speed, 12345}}).items_per_s, speed.items_per_s);
  EXPECT_DOUBLE_EQ(mixed({{speed, 7}, {{3e6, 2e6, 0}, 0}}).items_per_s, speed.items_per_s);
  EXPECT_EQ(mixed({{speed, 0}, {{3e6, 2e6, 0}, 0}}).items_per_s, speed.items_per_s);
  EXPECT_EQ(mixed({}).items_per_s, 0);
}

TEST(account, of_a_task_whose_speed_is_not_known_says_nothing) {
  solo_speed const both = mixed({{speed, 5}, {{0, 0, 0}, 1}});
  EXPECT_EQ(both.items_per_s, 0);
  EXPECT_FALSE(account_of({perfect()}, both).gain.ratio.has_value());
}

}  // namespace
}  // namespace lull
