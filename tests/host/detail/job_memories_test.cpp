// SPDX-License-Identifier: Apache-2.0
// Memory of jobs that is moved out for a trainer, and comes back with its content. The machine is real. The test does
// the work of the dispatcher and of blocks, step by step, so that each run is the same.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/tests/host/detail/job_memories_fixture.hpp>
#include <lull/tests/support/effort.hpp>

namespace lull {
namespace {

TEST_F(job_memories, is_what_a_thread_allocates_in_a_scope) {
  start(0, {});
  auto const outer = std::make_shared<job_memory>();
  auto const inner = std::make_shared<job_memory>();
  device_array<char> none{*executor_, 128 * kib};
  std::optional<device_array<char>> gone;
  {
    job_memory::scope const of_outer{outer};
    gone.emplace(*executor_, 256 * kib);
    {
      job_memory::scope const of_inner{inner};
      none = device_array<char>{*executor_, 512 * kib};  // what it held goes
      device_array<char> const small{*executor_, 16};
      EXPECT_EQ(inner->bytes(), 512 * kib) << "a small piece cannot go";
    }
    std::thread{[&] { device_array<char>{*executor_, kib}; }}.join();
    device_array<char> const short_lived{*executor_, 64 * kib};
    EXPECT_EQ(outer->bytes(), 320 * kib);
  }
  EXPECT_EQ(outer->bytes(), 256 * kib);
  gone.reset();
  EXPECT_EQ(outer->bytes(), 0U);
}

TEST_F(job_memories, of_the_lowest_job_goes_first_and_comes_back_with_its_bits) {
  start(64 * page, {.saved_bytes = 8 * page});
  round_job& high = add(page + 4096, 1);
  round_job& low = add(2 * page + 64, 0);
  for (round_job* const each : {&high, &low}) each->one_round();
  auto const bits = low.bits();
  std::uint64_t const before = executor_->device_free_bytes();
  EXPECT_EQ(give_back(1), low.bytes());
  EXPECT_EQ(executor_->device_free_bytes(), before + low.bytes());
  EXPECT_TRUE(is_evicted(low));
  EXPECT_FALSE(is_evicted(high));
  EXPECT_NE(low.bits(), bits) << "what was there is gone";
  tick_until([&] { return !is_evicted(low); });
  EXPECT_EQ(low.bits(), bits);
  EXPECT_EQ(executor_->device_free_bytes(), before);
  EXPECT_EQ(give_back(low.bytes() + 1), low.bytes() + high.bytes());
}

TEST_F(job_memories, stays_where_there_is_no_way_to_keep_what_is_in_it) {
  start(64 * page, {.saved_bytes = page});
  round_job& job = add(2 * page);
  EXPECT_EQ(give_back(1), 0U);
  EXPECT_FALSE(is_evicted(job));
}

TEST_F(job_memories, of_a_job_that_its_owner_holds_or_has_paused_stays) {
  start(64 * page, {.saved_bytes = 8 * page});
  round_job& job = add(page);
  ASSERT_TRUE(job.record->hold(0ns));
  EXPECT_EQ(give_back(1), 0U);
  job.record->let_go();
  job.record->want(job_core::wish::pause);
  EXPECT_EQ(give_back(1), 0U);
  EXPECT_EQ(job.record->state(), job_state::paused);
  job.record->want(job_core::wish::run);
  EXPECT_EQ(give_back(1), page);
  EXPECT_FALSE(job.record->hold(0ns));
  job.record->want(job_core::wish::pause);
  tick_until([&] { return job.record->state() == job_state::paused; });
  EXPECT_TRUE(job.record->hold(0ns)) << "one that is paused has its memory";
}

TEST_F(job_memories, of_a_cancelled_job_comes_back_before_it_is_over) {
  start(64 * page, {.saved_bytes = 8 * page});
  round_job& job = add(page);
  job.one_round();
  auto const bits = job.bits();
  EXPECT_EQ(give_back(1), page);
  job.record->want(job_core::wish::cancel);
  tick_until([&] { return job.record->state() == job_state::cancelled; });
  EXPECT_EQ(job.bits(), bits);
}

TEST_F(job_memories, of_a_cancelled_job_is_lost_where_there_is_no_room) {
  start(4 * page, {.saved_bytes = 8 * page});
  round_job& job = add(2 * page);
  EXPECT_EQ(give_back(1), 2 * page);
  device_array<char> trainers{*executor_, 3 * page};
  job.record->want(job_core::wish::cancel);
  tick_until([&] { return job.record->state() == job_state::cancelled; });
  job.free_large();
  trainers = device_array<char>{};
  EXPECT_GE(executor_->device_free_bytes(), 3 * page) << "it was not counted twice";
}

TEST_F(job_memories, without_time_a_job_goes_back_to_where_it_was_saved) {
  start(64 * page, {.saved_bytes = 8 * page});
  round_job& job = add(2 * page, 0, true);
  job.one_round();
  auto const bits = job.bits();
  settle();  // saves it
  EXPECT_FALSE(is_evicted(job));
  for (int more = 0; more < 3; ++more) job.one_round();
  EXPECT_EQ(job.rounds(), 4U);
  EXPECT_EQ(give_back(1, 1us), 2 * page);
  EXPECT_EQ(job.rounds(), 1U);
  tick_until([&] { return !is_evicted(job); });
  EXPECT_EQ(job.bits(), bits);
}

TEST_F(job_memories, of_a_job_that_may_not_go_back_is_saved_however_short_the_time) {
  start(64 * page, {.saved_bytes = 8 * page});
  round_job& job = add(2 * page, 0, false);
  job.one_round();
  auto const bits = job.bits();
  EXPECT_EQ(give_back(1), 2 * page);
  tick_until([&] { return !is_evicted(job); });  // now there is a copy
  job.one_round();
  auto const later = job.bits();
  give_back(1, 1us);
  tick_until([&] { return executor_->device_free_bytes() >= 63 * page; });
  tick_until([&] { return !is_evicted(job); });
  EXPECT_NE(later, bits);
  EXPECT_EQ(job.bits(), later);
}

TEST_F(job_memories, that_was_released_while_it_was_away_does_not_come_back) {
  start(64 * page, {.saved_bytes = 8 * page});
  round_job& job = add(page);
  std::uint64_t const before = executor_->device_free_bytes();
  bytes_taken const taken = executor_->taken_bytes();
  EXPECT_GE(taken.now, page);
  EXPECT_EQ(give_back(1), page);
  EXPECT_EQ(executor_->taken_bytes().now, taken.now - page);
  EXPECT_EQ(executor_->taken_bytes().most, taken.most);
  { device_array<char> const small{*executor_, 4096}; }
  EXPECT_EQ(executor_->taken_bytes().most, taken.most) << "also when less is taken again";
  job.free_large();
  EXPECT_EQ(executor_->device_free_bytes(), before + page);
  tick_until([&] { return !is_evicted(job); });
  EXPECT_EQ(executor_->device_free_bytes(), before + page);
}

TEST_F(job_memories, copies_of_jobs_that_are_there_make_room_for_one_that_leaves) {
  start(64 * page, {.saved_bytes = 3 * page});
  round_job& saved = add(page, 1, true);
  settle();
  round_job& low = add(2 * page + 4096, 0);
  EXPECT_EQ(give_back(1), low.bytes());
  EXPECT_FALSE(is_evicted(saved));
  EXPECT_EQ(give_back(1, 1us), 0U) << "its copy is not whole any more, and there is no room for another";
}

TEST_F(job_memories, below_the_reserve_gives_way_and_comes_back_only_when_it_fits_beside_it) {
  start(16 * page, {.reserve_bytes = 4 * page, .saved_bytes = 16 * page});
  round_job& job = add(10 * page);
  EXPECT_THROW(add(3 * page), limit_error) << "the reserve is the trainer's";
  job.one_round();
  auto const bits = job.bits();
  settle();
  EXPECT_FALSE(is_evicted(job));
  auto trainers = std::make_unique<device_array<char>>(*executor_, 3 * page);
  tick_until([&] { return executor_->device_free_bytes() >= 12 * page; });
  EXPECT_TRUE(is_evicted(job));
  now_ += 100s;
  settle();
  EXPECT_TRUE(is_evicted(job)) << "3 pages beside 10 leave less than the reserve";
  trainers = std::make_unique<device_array<char>>(*executor_, page + page / 2 + page / 4);
  now_ += 100s;
  settle();
  EXPECT_TRUE(is_evicted(job)) << "it would have to go again at the next page";
  trainers.reset();
  tick_until([&] { return !is_evicted(job); });
  EXPECT_EQ(job.bits(), bits);
}

/// Returns what a job of so many bytes has after so many undisturbed rounds.
std::vector<std::uint64_t> undisturbed(std::size_t bytes, std::uint64_t rounds) {
  std::vector<std::uint64_t> values(bytes / sizeof(std::uint64_t) + 16);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    for (std::uint64_t& value : values) value = mixed(value + round);
  }
  return values;
}

/// What is promised: what the trainer takes within the reserve at a time, and what it asked for before.
TEST_F(job_memories, never_stands_in_the_way_of_what_is_promised) {
  constexpr std::size_t unit = 64 * kib;
  constexpr std::size_t reserve = 8 * unit;
  constexpr int events = static_cast<int>(trials(25'000));
  for (std::uint32_t seed = 1; seed <= trials(4); ++seed) {
    std::mt19937 random{seed};
    jobs_.clear();
    memories_.reset();
    start(48 * unit, {.reserve_bytes = reserve, .saved_bytes = 16 * page});
    std::vector<device_array<char>> trainers;
    for (std::size_t job = 0; job < 4; ++job) add((4 + job) * unit, static_cast<int>(job % 2), job % 2 == 0);
    std::vector<std::uint64_t> rounds(4);
    int taken = 0, announced = 0, evicted = 0, went_back = 0;
    for (int event = 0; event < events; ++event) {
      std::uint32_t const what = random() % 8;
      std::size_t const bytes = (1 + random() % 8) * unit;
      if (what < 3 && !trainers.empty()) {
        std::swap(trainers[random() % trainers.size()], trainers.back());
        trainers.pop_back();
      } else if (what < 5 && executor_->device_free_bytes() >= reserve) {
        ASSERT_NO_THROW(trainers.emplace_back(*executor_, bytes)) << "within the reserve";
        ++taken;
      } else if (what == 5) {
        if (give_back(bytes, random() % 2 == 0 ? 1us : 60s) >= bytes) {
          ASSERT_NO_THROW(trainers.emplace_back(*executor_, bytes)) << "it was announced";
          ++announced;
        }
      } else {
        std::size_t const which = random() % 4;
        round_job& job = *jobs_[which];
        if (job.record->state() == job_state::queued && !job.record->is_asked_to_leave()) {
          std::uint64_t const before = job.rounds();
          went_back += before < rounds[which] ? 1 : 0;
          if (before < 400) job.one_round();
          rounds[which] = job.rounds();
        }
      }
      settle();
      bool const all_gave = std::all_of(jobs_.begin(), jobs_.end(), [](auto const& each) { return is_evicted(*each); });
      ASSERT_TRUE(all_gave || executor_->device_free_bytes() >= reserve);
      evicted += std::any_of(jobs_.begin(), jobs_.end(), [](auto const& each) { return is_evicted(*each); }) ? 1 : 0;
      now_ += std::chrono::milliseconds{random() % 2'000};
    }
    EXPECT_GT(taken, events / 20);
    EXPECT_GT(announced, events / 100);
    EXPECT_GT(evicted, events / 10);
    EXPECT_GT(went_back, events / 1'250);
    trainers.clear();
    for (std::size_t which = 0; which < 4; ++which) {
      round_job& job = *jobs_[which];
      tick_until([&] { return !is_evicted(job); });
      EXPECT_GT(job.rounds(), static_cast<std::uint64_t>(events / 1'000));
      EXPECT_EQ(job.bits(), undisturbed((4 + which) * unit, job.rounds())) << "job " << which << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace lull
