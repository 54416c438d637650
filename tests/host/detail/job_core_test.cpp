// SPDX-License-Identifier: Apache-2.0
// A job's own words, saved and restored: those of a file are checked.
#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/detail/job/job_core.hpp>
#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/tests/support/probe_task.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using words = std::vector<std::uint64_t>;

class saved_words : public testing::Test {
 protected:
  std::unique_ptr<detail::job_core> job(std::uint64_t ring = 64) {
    return std::make_unique<detail::job_core>(executor_, describe(probe_task{}), ring);
  }
  /// Returns an open phase of ten items: seven claimed, four committed, three handed back.
  words open_phase() {
    words made = job()->save();
    made[0] = tagged{5, 7}.word();
    made[1] = 4;
    made[2] = tagged{5, 10}.word();
    made[7] = tagged_state{5, phase_state::open}.word();
    made[9] = 1;
    made[10] = tagged{5, 2}.word();
    made[11] = 3;
    return made;
  }
  std::shared_ptr<executor> const executor_ = make_executor({.kind = executor_kind::threads, .processors = 2});
};

TEST_F(saved_words, are_taken_up_as_they_were) {
  auto const taken = job();
  taken->restore(open_phase());
  EXPECT_EQ(taken->save(), open_phase());
  EXPECT_EQ(taken->reached(), phase_state::open);
}

TEST_F(saved_words, of_more_chunks_than_the_ring_holds_are_refused) {
  words two = open_phase();
  two[9] = 2;
  two[11] = 1;
  two[12] = tagged{5, 3}.word();
  two[13] = 2;
  EXPECT_NO_THROW(job(2)->restore(two));
  EXPECT_THROW(job(1)->restore(two), limit_error);
}

TEST_F(saved_words, say_how_much_was_fed) {
  auto const fed = job();
  EXPECT_EQ(fed->fed(), 0U);
  fed->feed(3);
  EXPECT_EQ(fed->fed(), 3U);
  auto const taken = job();
  taken->restore(fed->save());
  EXPECT_EQ(taken->fed(), 3U);
}

TEST_F(saved_words, of_no_job_at_rest_are_refused) {
  std::uint64_t const opening = tagged_state{5, phase_state::opening}.word();
  std::uint64_t const finished = tagged_state{5, phase_state::finished}.word();
  std::uint64_t const nothing = tagged_state{5, phase_state{6}}.word();
  std::uint64_t const other_phase = tagged_state{4, phase_state::open}.word();
  for (auto const& [at, word] : std::vector<std::pair<std::size_t, std::uint64_t>>{{0, tagged{6, 7}.word()},
                                                                                   {1, 11},
                                                                                   {1, 5},
                                                                                   {1, 3},
                                                                                   {0, tagged{5, 4}.word()},
                                                                                   {0, tagged{5, 8}.word()},
                                                                                   {10, tagged{5, 5}.word()},
                                                                                   {2, tagged{4, 10}.word()},
                                                                                   {4, std::uint64_t{1} << 32},
                                                                                   {7, opening},
                                                                                   {7, finished},
                                                                                   {7, nothing},
                                                                                   {7, other_phase},
                                                                                   {7, std::uint64_t{1} << 32},
                                                                                   {9, 4097},
                                                                                   {9, ~std::uint64_t{0}},
                                                                                   {9, 2},
                                                                                   {10, tagged{4, 2}.word()},
                                                                                   {10, tagged{5, 8}.word()},
                                                                                   {11, 0},
                                                                                   {11, 9},
                                                                                   {11, ~std::uint64_t{0}}}) {
    words damaged = open_phase();
    damaged[at] = word;
    EXPECT_THROW(job()->restore(damaged), usage_error) << "word " << at << " is " << word;
  }
  words short_ones = open_phase();
  short_ones.pop_back();
  EXPECT_THROW(job()->restore(short_ones), usage_error);
}

/// Tries every state with tags and tickets near those of the phase. Between two phases the state belongs to the phase
/// whose limit is known, all of which was claimed, and nothing is left to add up. Otherwise no block could open the
/// next phase, or items would run again.
TEST_F(saved_words, between_phases_agree_on_the_phase) {
  constexpr std::uint64_t items = 3;
  int taken = 0;
  for (std::uint32_t state = 0; state < 8; ++state) {
    for (std::uint32_t tag = 4; tag <= 6; ++tag) {
      for (std::uint32_t ticket_tag = 4; ticket_tag <= 6; ++ticket_tag) {
        for (std::uint64_t claimed = 0; claimed <= items + 1; ++claimed) {
          for (std::uint64_t done = 0; done <= items + 1; ++done) {
            words saved = job()->save();
            saved[0] = tagged{ticket_tag, claimed}.word();
            saved[1] = done;
            saved[2] = tagged{5, items}.word();
            saved[7] = tagged_state{tag, phase_state{state}}.word();
            bool const one_phase = tag == 5 && ticket_tag == 5;
            bool agrees = false;
            switch (phase_state{state}) {
              case phase_state::open:
                agrees = one_phase && done == std::min(claimed, items);
                break;
              case phase_state::starved:
              case phase_state::due:
              case phase_state::finished:
              case phase_state::failed:
                agrees = one_phase && claimed >= items && done == 0;
                break;
              case phase_state::opening:
                break;
            }
            auto const resumed = job();
            auto const how = testing::Message() << "state " << state << " of phase " << tag << ", ticket " << claimed
                                                << " of phase " << ticket_tag << ", " << done << " done";
            if (agrees) {
              EXPECT_NO_THROW(resumed->restore(saved)) << how;
              ++taken;
            } else {
              EXPECT_THROW(resumed->restore(saved), usage_error) << how;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(taken, 5 + 4 * 2);
}

TEST_F(saved_words, of_a_step_that_the_task_does_not_have_are_refused) {
  for (std::uint64_t const step : {0, 1, 2, 1000}) {
    words saved = open_phase();
    saved[4] = step;
    if (step < probe_task::shape.steps) {
      EXPECT_NO_THROW(job()->restore(saved)) << "step " << step;
    } else {
      EXPECT_THROW(job()->restore(saved), usage_error) << "step " << step;
    }
  }
}

TEST_F(saved_words, of_a_job_that_never_began_are_taken_up) { EXPECT_NO_THROW(job()->restore(job()->save())); }

TEST_F(saved_words, what_is_seen_as_paused_is_not_placed_until_it_is_resumed) {
  using wish = detail::job_core::wish;
  auto const paused = job();
  paused->want(wish::pause);
  EXPECT_EQ(paused->move_to(job_state::queued), job_state::paused);
  // The owner resumes and pauses it before the dispatcher looks: nothing has happened.
  paused->want(wish::run);
  paused->want(wish::pause);
  EXPECT_EQ(paused->move_to(job_state::queued), job_state::paused);
  // The dispatcher looks in between: it takes the job, and from then on the owner does not see it paused.
  paused->want(wish::run);
  EXPECT_EQ(paused->move_to(job_state::queued), job_state::queued);
  paused->want(wish::pause);
  EXPECT_EQ(paused->state(), job_state::queued);
  EXPECT_EQ(paused->move_to(job_state::placed), job_state::placed);
  EXPECT_EQ(paused->move_to(job_state::queued), job_state::paused) << "no block is inside any more";
}

TEST_F(saved_words, what_is_over_stays_so) {
  using wish = detail::job_core::wish;
  auto const over = job();
  over->want(wish::cancel);
  over->want(wish::run);
  EXPECT_EQ(over->wanted(), wish::cancel);
  EXPECT_EQ(over->move_to(job_state::queued), job_state::cancelled);
  EXPECT_EQ(over->move_to(job_state::placed), job_state::cancelled);
  EXPECT_EQ(over->move_to(job_state::failed), job_state::cancelled);
}

TEST(job_core, is_waited_for_without_an_end) {
  std::shared_ptr<executor> const executor = make_executor({.kind = executor_kind::threads, .processors = 1});
  for (auto const at_most :
       {std::chrono::nanoseconds::max(), std::chrono::nanoseconds::max() - std::chrono::nanoseconds{1}}) {
    detail::job_core one{executor, describe(probe_task{}), 64};
    auto waits = std::async(std::launch::async, [&] { return one.wait(at_most); });
    EXPECT_EQ(waits.wait_for(std::chrono::milliseconds{50}), std::future_status::timeout);
    one.move_to(job_state::finished);
    ASSERT_EQ(waits.wait_for(long_enough), std::future_status::ready);
    EXPECT_TRUE(waits.get());
  }
}

TEST(job_core, counts_how_often_its_owner_may_have_written_its_memory) {
  std::shared_ptr<executor> const executor = make_executor({.kind = executor_kind::threads, .processors = 1});
  detail::job_core one{executor, describe(probe_task{}), 64};
  EXPECT_EQ(one.touches(), 0U);
  ASSERT_TRUE(one.hold(long_enough));
  one.let_go();
  EXPECT_EQ(one.touches(), 1U);
  one.want(detail::job_core::wish::pause);
  for (int looks = 0; looks < 2; ++looks) EXPECT_EQ(one.move_to(job_state::queued), job_state::paused);
  EXPECT_EQ(one.touches(), 2U);
}

TEST(job_core, is_not_held_where_its_memory_is_lost_meanwhile) {
  std::shared_ptr<executor> const executor = make_executor({.kind = executor_kind::threads, .processors = 1});
  job_description with_memory = describe(probe_task{});
  with_memory.memory = std::make_shared<job_memory>();
  detail::job_core one{executor, with_memory, 64};
  ASSERT_TRUE(one.ask_to_leave());
  auto held = std::async(std::launch::async, [&] { return one.hold(long_enough); });
  EXPECT_EQ(held.wait_for(std::chrono::milliseconds{20}), std::future_status::timeout);
  with_memory.memory->lose();
  one.is_back();
  ASSERT_EQ(held.wait_for(long_enough), std::future_status::ready);
  EXPECT_FALSE(held.get());
}

TEST(job_core, that_was_let_go_too_often_is_held_by_nobody) {
  std::shared_ptr<executor> const executor = make_executor({.kind = executor_kind::threads, .processors = 1});
  detail::job_core one{executor, describe(probe_task{}), 64};
  one.let_go();
  ASSERT_TRUE(one.hold(long_enough));
  EXPECT_FALSE(one.ask_to_leave());
  one.let_go();
  one.let_go();
  EXPECT_TRUE(one.ask_to_leave());
}

TEST(job_core, is_not_waited_for_when_the_time_is_over_before) {
  std::shared_ptr<executor> const executor = make_executor({.kind = executor_kind::threads, .processors = 1});
  detail::job_core one{executor, describe(probe_task{}), 64};
  for (auto const at_most :
       {std::chrono::nanoseconds::min(), std::chrono::nanoseconds{-1}, std::chrono::nanoseconds{0}})
    EXPECT_FALSE(one.wait(at_most));
  one.move_to(job_state::cancelled);
  EXPECT_TRUE(one.wait(std::chrono::nanoseconds::min()));
}

TEST(job_core, takes_no_memory_of_the_machine) {
  std::shared_ptr<executor> const executor =
      make_executor({.kind = executor_kind::threads, .memory_limit_bytes = 1, .processors = 1});
  detail::job_core const one{executor, describe(probe_task{}), 64};
  EXPECT_EQ(executor->taken_bytes().now, 0U);
}

/// Each allocation in turn fails.
TEST(job_seat, leaves_nothing_behind_when_memory_runs_out) {
  std::size_t refused = 0;
  bool made = false;
  for (std::size_t limit = 64; !made; limit += 64) {
    std::shared_ptr<executor> const executor =
        make_executor({.kind = executor_kind::threads, .memory_limit_bytes = limit, .processors = 1});
    try {
      detail::job_seat const one{executor, 64};
      made = true;
    } catch (limit_error const&) {
      ++refused;
    }
    void* whole = nullptr;
    EXPECT_NO_THROW(whole = executor->allocate(limit)) << "with a limit of " << limit << " bytes";
    executor->release(whole);
  }
  // the cursor, the ring after it, the line after both
  EXPECT_GE(refused, (sizeof(cursor) + sizeof(ring_group)) / 64);
}

class seated : public saved_words {
 protected:
  void wait() {
    await_that([&] { return lane_->done(); });
  }
  void leave(detail::job_core& job) {
    job.begin_to_leave(*lane_);
    do wait();
    while (!job.leave(*lane_));
  }
  std::unique_ptr<copy_lane> lane_ = executor_->make_control_lane();
  std::shared_ptr<detail::job_seat> seat_ = std::make_shared<detail::job_seat>(executor_, 64);
};

TEST_F(seated, takes_its_words_to_the_machine_and_back) {
  auto const one = job();
  one->restore(open_phase());
  one->take(seat_, *lane_);
  wait();
  EXPECT_EQ(one->reached(), phase_state::open);
  EXPECT_EQ(seat_->at()->ring.pushed, 1U);
  EXPECT_EQ(seat_->at()->places[0].full, 1U);
  EXPECT_THROW(one->save(), usage_error) << "a block may be inside";
  EXPECT_THROW(one->restore(open_phase()), usage_error);
  leave(*one);
  EXPECT_EQ(one->save(), open_phase());
}

/// A ring that one job left full is empty for the next.
TEST_F(seated, by_turns_find_nothing_of_each_other) {
  auto const first = job();
  first->restore(open_phase());
  first->take(seat_, *lane_);
  wait();
  leave(*first);
  auto const second = job();
  second->take(seat_, *lane_);
  wait();
  EXPECT_EQ(seat_->at()->ring.pushed, 0U);
  EXPECT_EQ(seat_->at()->places[0].full, 0U);
  EXPECT_EQ(seat_->at()->places[0].taken, 0U);
  leave(*second);
  first->take(seat_, *lane_);
  wait();
  leave(*first);
  EXPECT_EQ(first->save(), open_phase());
}

/// What is fed at any moment reaches the cursor, in order.
TEST_F(seated, is_told_what_is_fed_meanwhile) {
  auto const fed = job();
  fed->feed(1);
  fed->take(seat_, *lane_);
  fed->feed(2);
  wait();
  EXPECT_EQ(seat_->at()->fed, 1U);
  EXPECT_FALSE(fed->catch_up_fed(*lane_));
  wait();
  EXPECT_EQ(seat_->at()->fed, 2U);
  EXPECT_TRUE(fed->catch_up_fed(*lane_));
  fed->feed(3);
  EXPECT_EQ(seat_->at()->fed, 3U) << "at once";
  leave(*fed);
  fed->feed(4);
  EXPECT_EQ(seat_->at()->fed, 3U) << "the seat may be another's";
  EXPECT_EQ(fed->save()[8], 4U);
}

}  // namespace
}  // namespace lull
