// SPDX-License-Identifier: Apache-2.0
// What an owner may do with a job's memory, and with the job, while the memory is moved out.
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/detail/job/job_queue.hpp>
#include <lull/host/error.hpp>
#include <lull/host/runtime.hpp>
#include <lull/tests/host/detail/job_memories_fixture.hpp>

namespace lull {
namespace {

TEST_F(job_memories, that_its_owner_may_have_written_since_is_not_dropped) {
  start(64 * page, {.saved_bytes = 8 * page});
  round_job& job = add(2 * page, 0, true);
  settle();
  ASSERT_TRUE(job.record->hold(0ns));
  job.one_round();
  job.record->let_go();
  auto const bits = job.bits();
  give_back(1, 1us);
  tick_until([&] { return executor_->device_free_bytes() >= 63 * page; });
  tick_until([&] { return !is_evicted(job); });
  EXPECT_EQ(job.bits(), bits);
}

TEST_F(job_memories, of_a_job_that_ends_while_it_is_asked_for_is_its_owners) {
  start(64 * page, {.saved_bytes = 8 * page});
  round_job& job = add(page);
  auto const request = ask(1, 60s);
  tick();
  ASSERT_TRUE(job.record->is_asked_to_leave());
  EXPECT_EQ(job.record->move_to(job_state::finished), job_state::finished);
  EXPECT_TRUE(job.record->hold(0ns));
  tick();
  EXPECT_TRUE(request->is_over);
  EXPECT_EQ(request->given, 0U);
}

TEST_F(job_memories, that_is_lost_or_anothers_is_refused) {
  start(4 * page, {.saved_bytes = 8 * page});
  round_job& job = add(2 * page);
  auto const queue = std::make_shared<detail::job_queue>(std::make_shared<detail::wake_signal>());
  auto const another = [&] { return std::make_shared<job_core>(executor_, job.record->description(), 64); };
  queue->add(job.record);
  EXPECT_THROW(queue->add(another()), usage_error);
  EXPECT_EQ(give_back(1), 2 * page);
  device_array<char> const trainers{*executor_, 3 * page};
  job.record->want(job_core::wish::cancel);
  tick_until([&] { return job.record->state() == job_state::cancelled; });
  EXPECT_FALSE(job.record->hold(0ns));
  EXPECT_THROW(queue->add(another()), usage_error);
}

TEST_F(job_memories, of_a_job_that_is_cancelled_while_it_is_saved_stays) {
  start(64 * page, {.saved_bytes = 8 * page});
  round_job& job = add(page);
  job.one_round();
  auto const bits = job.bits();
  std::uint64_t const before = executor_->device_free_bytes();
  auto const request = ask(1, 60s);
  tick();
  tick();  // saves
  job.record->want(job_core::wish::cancel);
  tick_until([&] { return request->is_over; });
  EXPECT_EQ(executor_->device_free_bytes(), before);
  tick_until([&] { return job.record->state() == job_state::cancelled; });
  EXPECT_EQ(job.bits(), bits);
}

/// The request comes during a tick that looks whether another job may come back, after jobs were asked to leave.
TEST_F(job_memories, that_is_asked_for_during_a_tick_is_not_refused_before_the_next) {
  start(64 * page, {.saved_bytes = 8 * page});
  add(2 * page);
  add(2 * page, 1);
  EXPECT_EQ(give_back(1), 2 * page);
  device_array<char> const trainers{*executor_, 61 * page};  // so it stays away, and nothing moves
  std::shared_ptr<detail::memory_request> late;
  bool asked = false;
  executor_->looks_at_free = [&] {
    if (!std::exchange(asked, true)) late = ask(1, 600s);
  };
  tick_until([&] { return asked; });
  EXPECT_FALSE(late->is_over);
  executor_->looks_at_free = {};
  tick_until([&] { return late->is_over; });
  EXPECT_GE(memories_->requests().await(late), 2 * page);
}

/// What others hold of the same machine: they free it when a tick has passed.
class holders final : public detail::memory_of_others {
 public:
  holders(executor& machine, std::size_t bytes) : held_(machine, bytes) {}
  std::uint64_t take(std::uint64_t bytes, std::chrono::nanoseconds within) override {
    within_ = within;
    ++asked_;
    leaves_ = leaves_ || bytes != 0;
    return held_.size();
  }
  std::uint64_t freed() override {
    if (!leaves_) return 0;
    std::uint64_t const went = held_.size();
    held_ = {};
    return went;
  }
  int times_asked() const { return asked_; }
  std::chrono::nanoseconds within() const { return within_; }

 private:
  device_array<char> held_;
  bool leaves_ = false;
  int asked_ = 0;
  std::chrono::nanoseconds within_{0};
};

TEST_F(job_memories, of_others_goes_first_and_that_of_jobs_for_the_rest) {
  start(64 * page, {.saved_bytes = 8 * page});
  holders others{*executor_, 3 * page};
  memories_->take_from_others_first(&others);
  round_job& job = add(2 * page);
  EXPECT_EQ(give_back(3 * page, 40s), 3 * page);
  EXPECT_FALSE(is_evicted(job));
  EXPECT_EQ(others.within(), 40s);
  EXPECT_EQ(give_back(1), 2 * page) << "they have no more";
  EXPECT_TRUE(is_evicted(job));
}

TEST_F(job_memories, of_others_and_of_jobs_is_asked_for_at_once) {
  start(64 * page, {.saved_bytes = 8 * page});
  holders others{*executor_, 3 * page};
  memories_->take_from_others_first(&others);
  round_job& job = add(2 * page);
  EXPECT_EQ(give_back(4 * page), 5 * page);
  EXPECT_TRUE(is_evicted(job));
}

TEST_F(job_memories, of_others_fills_the_reserve_although_there_is_no_job) {
  start(16 * page, {.reserve_bytes = 8 * page, .saved_bytes = page});
  holders others{*executor_, 6 * page};
  memories_->take_from_others_first(&others);
  device_array<char> const trainers{*executor_, 4 * page};
  settle();
  EXPECT_EQ(others.times_asked(), 1);
  EXPECT_GT(others.within(), 1s);
  EXPECT_EQ(executor_->device_free_bytes(), 12 * page);
}

TEST(job_memory, knows_a_piece_that_came_to_the_addresses_of_another) {
  job_memory memory;
  int there = 0;
  memory.add(&there, {64 * kib, 64 * kib, true});
  auto const before = memory.pieces();
  memory.remove(&there, [] {});
  memory.add(&there, {64 * kib, 64 * kib, true});
  EXPECT_NE(memory.pieces(), before) << "the old one's contents would be copied over it";
}

TEST(job_memory, releases_a_piece_that_moves_when_the_move_has_ended) {
  job_memory memory;
  int there = 0;
  bool released = false;
  memory.add(&there, {64 * kib, 64 * kib, true});
  {
    job_memory::move const still{memory};
    memory.remove(&there, [&] { released = true; });
    EXPECT_FALSE(released);
    EXPECT_EQ(memory.bytes(), 0U);
    EXPECT_EQ(still.pieces().size(), 1U);
  }
  EXPECT_TRUE(released);
}

TEST_F(job_memories, what_a_runtime_makes_for_a_job_is_not_of_it) {
  auto const memory = std::make_shared<job_memory>();
  runtime side{{.executor = {.kind = executor_kind::threads, .processors = 1}}};
  job_memory::scope const its{memory};
  device_array<char> const array{side.memory(), 128 * kib};
  job_description what = describe(probe_task{});
  what.memory = memory;
  job made = side.submit(what);
  EXPECT_EQ(job_memory::move{*memory}.pieces().size(), 1U);
  EXPECT_THROW(side.submit(what), usage_error);
  made.cancel();
  EXPECT_TRUE(made.wait(60s));
}

}  // namespace
}  // namespace lull
