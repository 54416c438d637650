// SPDX-License-Identifier: Apache-2.0
// Memory of jobs that gives way to a trainer's, and comes back with what was in it. The machine is real; what the
// dispatcher and blocks do is done here, one after the other, so that each run is the same.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/detail/job_memories.hpp>
#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/threads/executor.hpp>
#include <lull/tests/support/probe_task.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using detail::job_record;

constexpr std::size_t kib = 1024;
constexpr std::size_t page = detail::saved_pages::page_bytes;

std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdU;
  return value ^ value >> 29;
}

/// A machine whose copies have ended when somebody asks whether they have: time passes only in the test.
class prompt_executor final : public threads_executor {
 public:
  using threads_executor::threads_executor;
  std::unique_ptr<copy_lane> make_copy_lane() override {
    return std::make_unique<prompt_lane>(threads_executor::make_copy_lane());
  }

 private:
  class prompt_lane final : public copy_lane {
   public:
    explicit prompt_lane(std::unique_ptr<copy_lane> lane) : lane_(std::move(lane)) {}
    void copy_in(void* to, void const* from, std::size_t bytes) override { lane_->copy_in(to, from, bytes); }
    void copy_out(void* to, void const* from, std::size_t bytes) override { lane_->copy_out(to, from, bytes); }
    bool done() override {
      while (!lane_->done()) std::this_thread::yield();
      return true;
    }

   private:
    std::unique_ptr<copy_lane> lane_;
  };
};

/// A job whose rounds each change all that it has: one array that can go, one that is too small to.
class round_job {
 public:
  round_job(std::shared_ptr<executor> const& machine, std::size_t bytes, int priority, std::uint64_t order,
            bool may_go_back)
      : machine_(machine), memory_(std::make_shared<job_memory>()) {
    job_memory::scope const its{memory_};
    large_ = {*machine, bytes / sizeof(std::uint64_t)};
    small_ = {*machine, std::size_t{16}};
    job_description what = describe(probe_task{});
    what.priority = priority;
    what.memory = memory_;
    what.may_go_back = may_go_back;
    record = std::make_shared<job_record>(machine, what, 64);
    record->order = order;
  }

  void one_round() {
    cursor now{};
    machine_->read(&now, record->at(), sizeof now);
    ++now.round;
    machine_->write(record->at(), &now, sizeof now);
    for (machine_array<std::uint64_t>* const each : {&large_, &small_}) {
      std::vector<std::uint64_t> values = each->read();
      for (std::uint64_t& value : values) value = mixed(value + now.round);
      each->write(values);
    }
  }
  std::uint64_t rounds() const { return record->save()[3]; }
  std::vector<std::uint64_t> bits() const {
    std::vector<std::uint64_t> all = large_.read();
    std::vector<std::uint64_t> const rest = small_.read();
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }
  std::uint64_t bytes() const { return memory_->bytes(); }
  void free_large() { machine_array<std::uint64_t>{std::move(large_)}; }

  std::shared_ptr<job_record> record;

 private:
  std::shared_ptr<executor> machine_;
  std::shared_ptr<job_memory> memory_;
  machine_array<std::uint64_t> large_;  // (bytes / 8,)
  machine_array<std::uint64_t> small_;  // (16,)
};

class job_memories : public testing::Test {
 protected:
  void start(std::size_t device_bytes, detail::job_memories::limits const& allowed) {
    machine_ = std::make_shared<prompt_executor>(executor_options{.kind = executor_kind::threads,
                                                                  .memory_limit_bytes = device_bytes,
                                                                  .reserve_bytes = allowed.reserve_bytes,
                                                                  .processors = 1});
    memories_ = std::make_unique<detail::job_memories>(*machine_, allowed);
  }
  round_job& add(std::size_t bytes, int priority = 0, bool may_go_back = false) {
    return *jobs_.emplace_back(std::make_unique<round_job>(machine_, bytes, priority, jobs_.size(), may_go_back));
  }
  /// As the dispatcher does: jobs that shall leave are seen to be out.
  void tick() {
    std::vector<std::shared_ptr<job_record>> alive;
    for (auto const& each : jobs_) {
      job_state const now = each->record->move_to(job_state::queued);
      if (now != job_state::cancelled && now != job_state::finished) alive.push_back(each->record);
    }
    std::sort(alive.begin(), alive.end(), [](auto const& a, auto const& b) { return goes_before(*a, *b); });
    memories_->tick(alive, now_);
  }
  /// Time passes only here.
  template <class So>
  void tick_until(So so) {
    for (int ticks = 0; !so(); ++ticks, now_ += 1ms) {
      ASSERT_LT(ticks, 100'000);
      tick();
    }
  }
  /// Until nothing moves, and the reserve was looked at.
  void settle() {
    for (int ticks = 0; ticks < 12; ++ticks, now_ += 1ms) tick();
    tick_until([this] { return memories_->next() >= now_ + 1ms; });
    tick();
  }
  std::uint64_t give_back(std::uint64_t bytes, std::chrono::nanoseconds at_most = 60s) {
    detail::memory_request request{.bytes = bytes, .deadline = now_ + at_most};
    memories_->ask(request);
    tick_until([&] { return request.is_over; });
    memories_->forget(request);
    return request.given;
  }
  static bool is_evicted(round_job const& of) { return of.record->state() == job_state::evicted; }

  std::chrono::steady_clock::time_point now_{1h};
  std::shared_ptr<executor> machine_;
  std::vector<std::unique_ptr<round_job>> jobs_;
  std::unique_ptr<detail::job_memories> memories_;  // ends before the machine and the jobs
};

TEST_F(job_memories, is_what_a_thread_allocates_in_a_scope) {
  start(0, {});
  auto const outer = std::make_shared<job_memory>();
  auto const inner = std::make_shared<job_memory>();
  machine_array<char> none{*machine_, 128 * kib};
  std::optional<machine_array<char>> gone;
  {
    job_memory::scope const of_outer{outer};
    gone.emplace(*machine_, 256 * kib);
    {
      job_memory::scope const of_inner{inner};
      none = machine_array<char>{*machine_, 512 * kib};  // what it held goes
      machine_array<char> const small{*machine_, 16};
      EXPECT_EQ(inner->bytes(), 512 * kib) << "a small piece cannot go";
    }
    std::thread{[&] { machine_array<char>{*machine_, kib}; }}.join();
    machine_array<char> const short_lived{*machine_, 64 * kib};
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
  std::uint64_t const before = machine_->device_free_bytes();
  EXPECT_EQ(give_back(1), low.bytes());
  EXPECT_EQ(machine_->device_free_bytes(), before + low.bytes());
  EXPECT_TRUE(is_evicted(low));
  EXPECT_FALSE(is_evicted(high));
  EXPECT_NE(low.bits(), bits) << "what was there is gone";
  tick_until([&] { return !is_evicted(low); });
  EXPECT_EQ(low.bits(), bits);
  EXPECT_EQ(machine_->device_free_bytes(), before);
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
  job.record->want(job_record::wish::pause);
  EXPECT_EQ(give_back(1), 0U);
  EXPECT_EQ(job.record->state(), job_state::paused);
  job.record->want(job_record::wish::run);
  EXPECT_EQ(give_back(1), page);
  EXPECT_FALSE(job.record->hold(0ns));
  job.record->want(job_record::wish::pause);
  tick_until([&] { return job.record->state() == job_state::paused; });
  EXPECT_TRUE(job.record->hold(0ns)) << "one that is paused has its memory";
}

TEST_F(job_memories, of_a_cancelled_job_comes_back_before_it_is_over) {
  start(64 * page, {.saved_bytes = 8 * page});
  round_job& job = add(page);
  job.one_round();
  auto const bits = job.bits();
  EXPECT_EQ(give_back(1), page);
  job.record->want(job_record::wish::cancel);
  tick_until([&] { return job.record->state() == job_state::cancelled; });
  EXPECT_EQ(job.bits(), bits);
}

TEST_F(job_memories, of_a_cancelled_job_is_lost_where_there_is_no_room) {
  start(4 * page, {.saved_bytes = 8 * page});
  round_job& job = add(2 * page);
  EXPECT_EQ(give_back(1), 2 * page);
  machine_array<char> trainers{*machine_, 3 * page};
  job.record->want(job_record::wish::cancel);
  tick_until([&] { return job.record->state() == job_state::cancelled; });
  job.free_large();
  trainers = machine_array<char>{};
  EXPECT_GE(machine_->device_free_bytes(), 3 * page) << "it was not counted twice";
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
  settle();
  job.one_round();
  auto const later = job.bits();
  give_back(1, 1us);
  tick_until([&] { return machine_->device_free_bytes() >= 63 * page; });
  tick_until([&] { return !is_evicted(job); });
  EXPECT_NE(later, bits);
  EXPECT_EQ(job.bits(), later);
}

TEST_F(job_memories, that_was_released_while_it_was_away_does_not_come_back) {
  start(64 * page, {.saved_bytes = 8 * page});
  round_job& job = add(page);
  std::uint64_t const before = machine_->device_free_bytes();
  EXPECT_EQ(give_back(1), page);
  job.free_large();
  EXPECT_EQ(machine_->device_free_bytes(), before + page);
  tick_until([&] { return !is_evicted(job); });
  EXPECT_EQ(machine_->device_free_bytes(), before + page);
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
  auto trainers = std::make_unique<machine_array<char>>(*machine_, 3 * page);
  tick_until([&] { return machine_->device_free_bytes() >= 12 * page; });
  EXPECT_TRUE(is_evicted(job));
  now_ += 100s;
  settle();
  EXPECT_TRUE(is_evicted(job)) << "3 pages beside 10 leave less than the reserve";
  trainers = std::make_unique<machine_array<char>>(*machine_, page + page / 2 + page / 4);
  now_ += 100s;
  settle();
  EXPECT_TRUE(is_evicted(job)) << "it would have to go again at the next page";
  trainers.reset();
  tick_until([&] { return !is_evicted(job); });
  EXPECT_EQ(job.bits(), bits);
}

/// What a job of so many bytes has after so many rounds that nothing disturbed.
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
  constexpr int events = 25'000;
  for (std::uint32_t const seed : {1U, 2U, 3U, 4U}) {
    std::mt19937 random{seed};
    jobs_.clear();
    memories_.reset();
    start(48 * unit, {.reserve_bytes = reserve, .saved_bytes = 16 * page});
    std::vector<machine_array<char>> trainers;
    for (std::size_t job = 0; job < 4; ++job) add((4 + job) * unit, static_cast<int>(job % 2), job % 2 == 0);
    std::vector<std::uint64_t> rounds(4);
    int taken = 0, announced = 0, evicted = 0, went_back = 0;
    for (int event = 0; event < events; ++event) {
      std::uint32_t const what = random() % 8;
      std::size_t const bytes = (1 + random() % 8) * unit;
      if (what < 3 && !trainers.empty()) {
        std::swap(trainers[random() % trainers.size()], trainers.back());
        trainers.pop_back();
      } else if (what < 5 && machine_->device_free_bytes() >= reserve) {
        ASSERT_NO_THROW(trainers.emplace_back(*machine_, bytes)) << "within the reserve";
        ++taken;
      } else if (what == 5) {
        if (give_back(bytes, random() % 2 == 0 ? 1us : 60s) >= bytes) {
          ASSERT_NO_THROW(trainers.emplace_back(*machine_, bytes)) << "it was announced";
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
      ASSERT_TRUE(all_gave || machine_->device_free_bytes() >= reserve);
      evicted += std::any_of(jobs_.begin(), jobs_.end(), [](auto const& each) { return is_evicted(*each); }) ? 1 : 0;
      now_ += std::chrono::milliseconds{random() % 2'000};
    }
    EXPECT_GT(taken, events / 20);
    EXPECT_GT(announced, events / 100);
    EXPECT_GT(evicted, events / 10);
    EXPECT_GT(went_back, 20);
    trainers.clear();
    for (std::size_t which = 0; which < 4; ++which) {
      round_job& job = *jobs_[which];
      tick_until([&] { return !is_evicted(job); });
      EXPECT_GT(job.rounds(), 30U);
      EXPECT_EQ(job.bits(), undisturbed((4 + which) * unit, job.rounds())) << "job " << which << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace lull
