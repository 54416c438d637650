// SPDX-License-Identifier: Apache-2.0
// Jobs that keep a runtime busy, on threads: submitted anew, run to their end, judged.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/cli/always_on.hpp>
#include <lull/host/cli/replay.hpp>
#include <lull/host/cli/side_jobs.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/cli/noting_trainer.hpp>
#include <lull/tests/contract/probe_owner.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t items_of_one = 40 + 1 + 17 + 30;

/// A probe whose results can be spoilt: from the reset with that number on, or always, one item counts a run that nobody made.
class spoilt_owner final : public task_owner {
 public:
  static constexpr int always = -1;

  explicit spoilt_owner(int from_reset = 0, std::uint32_t grain = 1) : from_reset_(from_reset), grain_(grain) {}

  void prepare(executor& machine) override {
    machine_ = &machine;
    inner_.prepare(machine);
    if (from_reset_ == always) spoil();
  }
  job_description describe() const override {
    job_description made = inner_.describe();
    made.grain = grain_;
    return made;
  }
  void reset() override {
    inner_.reset();
    ++resets_;
    if (from_reset_ == always || (from_reset_ != 0 && resets_ >= from_reset_)) spoil();
  }
  std::vector<task_array> arrays() const override { return inner_.arrays(); }
  verification verify() override {
    ++verified;
    return inner_.verify();
  }
  std::vector<std::string> write() override { return {}; }

  int verified = 0;

 private:
  void spoil() {
    std::uint32_t const one = 1;
    machine_->write(inner_.arrays()[1].memory, &one, sizeof one);
  }

  probe_owner inner_{probe_task::mutant::none, 0, {40, 1, 17, 30}};
  executor* machine_ = nullptr;
  int const from_reset_;
  std::uint32_t const grain_;
  int resets_ = 0;
};

/// A task with more items than a cursor can count.
class failing_owner final : public task_owner {
 public:
  void prepare(executor& machine) override {
    std::uint64_t const too_many = std::uint64_t{1} << 41;
    extents_ = {machine, std::span{&too_many, 1}};
  }
  job_description describe() const override {
    return lull::describe(probe_task{extents_.data(), 1, nullptr, nullptr, nullptr, nullptr, 1, 0, 0, 0, {}}, "failing");
  }
  void reset() override {}
  std::vector<task_array> arrays() const override { return {}; }
  verification verify() override { return {}; }
  std::vector<std::string> write() override { return {}; }

 private:
  machine_array<std::uint64_t> extents_;
};

class jobs_on_threads : public testing::Test {
 protected:
  side_jobs& keep_busy(std::vector<std::unique_ptr<task_owner>> owners, results_kept kept = results_kept::all) {
    for (auto const& owner : owners) owner->prepare(side_.machine());
    jobs_ = std::make_unique<side_jobs>(side_, std::move(owners), "probe", kept);
    return *jobs_;
  }
  template <class... Owner>
  static std::vector<std::unique_ptr<task_owner>> list(std::unique_ptr<Owner>... owners) {
    std::vector<std::unique_ptr<task_owner>> made;
    (made.push_back(std::move(owners)), ...);
    return made;
  }

  /// Bubbles until so many jobs have ended, or one failed.
  void train(std::uint64_t ended) {
    stage_plan const bubble{{}, {{gap_site::tail, 0, 0ns, 1ms}}, 1ms};
    auto const give_up = std::chrono::steady_clock::now() + 120s;  // against hangs only
    while (jobs_->ended() < ended && !jobs_->failed() && std::chrono::steady_clock::now() < give_up) {
      for (replayed_bubble& one : replay(trainer_, bubble, 1, &side_, [] { return false; }).bubbles) bubbles_.push_back(std::move(one));
    }
  }
  void expect_all_finished(std::uint64_t at_least) {
    auto const results = jobs_->results();
    EXPECT_GE(results.size(), at_least);
    for (job_result const& one : results) {
      EXPECT_EQ(one.state, "finished");
      EXPECT_EQ(one.items, items_of_one);
      EXPECT_EQ(one.phases, 4U);
    }
  }

  noting_trainer trainer_;
  runtime side_{{.machine = {.kind = executor_kind::threads, .processors = 2}, .tasks = {type_of<probe_task>()}}};
  std::vector<replayed_bubble> bubbles_;
  std::unique_ptr<side_jobs> jobs_;
};

bool never() { return false; }
bool at_once() { return true; }

TEST_F(jobs_on_threads, a_job_that_ends_early_is_submitted_anew_and_each_is_verified) {
  auto owner = std::make_unique<spoilt_owner>();
  spoilt_owner const& seen = *owner;
  side_jobs& jobs = keep_busy(list(std::move(owner)));
  train(4);
  task_owner* const finished = jobs.finish(trainer_, never);
  ASSERT_NE(finished, nullptr);
  expect_all_finished(5);
  verification const judged = jobs.verify(*finished);
  EXPECT_TRUE(judged.ok) << judged.message;
  EXPECT_EQ(seen.verified, 1);
  for (job_result const& one : jobs.results()) EXPECT_EQ(one.verified, true);
  EXPECT_FALSE(jobs.failed());
}

TEST_F(jobs_on_threads, a_successor_takes_turns) {
  side_jobs& jobs = keep_busy(list(std::make_unique<spoilt_owner>(), std::make_unique<spoilt_owner>()));
  train(4);
  task_owner* const finished = jobs.finish(trainer_, never);
  ASSERT_NE(finished, nullptr);
  EXPECT_TRUE(jobs.verify(*finished).ok);
  EXPECT_GE(jobs.ended(), 5U);
  std::uint64_t right = 0;
  for (job_result const& one : jobs.results()) right += one.verified == true ? 1 : 0;
  EXPECT_EQ(right, jobs.ended());
}

TEST_F(jobs_on_threads, what_is_unfinished_is_run_to_its_end) {
  side_jobs& jobs = keep_busy(list(std::make_unique<spoilt_owner>()));
  task_owner* const finished = jobs.finish(trainer_, never);  // in no bubble but its own
  ASSERT_NE(finished, nullptr);
  expect_all_finished(1);
  EXPECT_EQ(jobs.ended(), 1U);
  jobs.share_chunks(0, std::nullopt);
  EXPECT_EQ(jobs.results()[0].chunks, items_of_one);
}

TEST_F(jobs_on_threads, a_stop_cancels_what_is_unfinished) {
  side_jobs& jobs = keep_busy(list(std::make_unique<spoilt_owner>()));
  EXPECT_EQ(jobs.finish(trainer_, at_once), nullptr);
  EXPECT_EQ(jobs.ended(), 0U);
  EXPECT_TRUE(jobs.results().empty());  // it had not begun
  EXPECT_EQ(trainer_.noted(), "");
}

TEST_F(jobs_on_threads, a_wrong_job_between_right_ones_is_found) {
  side_jobs& jobs = keep_busy(list(std::make_unique<spoilt_owner>(2)));
  train(4);
  task_owner* const finished = jobs.finish(trainer_, never);
  ASSERT_NE(finished, nullptr);
  verification const judged = jobs.verify(*finished);
  EXPECT_FALSE(judged.ok);
  EXPECT_NE(judged.message.find("another result"), std::string::npos) << judged.message;
  auto const results = jobs.results();
  ASSERT_GE(results.size(), 4U);
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i].verified, i < 2) << i;
}

TEST_F(jobs_on_threads, jobs_that_are_wrong_alike_are_found) {
  side_jobs& jobs = keep_busy(list(std::make_unique<spoilt_owner>(spoilt_owner::always)));
  train(2);
  task_owner* const finished = jobs.finish(trainer_, never);
  ASSERT_NE(finished, nullptr);
  EXPECT_FALSE(jobs.verify(*finished).ok);
  for (job_result const& one : jobs.results()) EXPECT_EQ(one.verified, false);
}

TEST_F(jobs_on_threads, results_are_not_read_unless_they_are_kept) {
  side_jobs& jobs = keep_busy(list(std::make_unique<spoilt_owner>(1)), results_kept::none);
  train(2);
  task_owner* const finished = jobs.finish(trainer_, never);
  ASSERT_NE(finished, nullptr);
  EXPECT_THROW(jobs.verify(*finished), usage_error);
  for (job_result const& one : jobs.results()) EXPECT_FALSE(one.verified.has_value());
}

TEST_F(jobs_on_threads, a_job_that_fails_ends_it_all) {
  side_jobs& jobs = keep_busy(list(std::make_unique<failing_owner>()));
  train(1);
  EXPECT_TRUE(jobs.failed());
  EXPECT_EQ(jobs.finish(trainer_, never), nullptr);
  ASSERT_EQ(jobs.results().size(), 1U);
  EXPECT_EQ(jobs.results()[0].state, "failed");
  EXPECT_EQ(jobs.ended(), 0U);
}

TEST_F(jobs_on_threads, chunks_are_shared_out) {
  side_jobs& jobs = keep_busy(list(std::make_unique<spoilt_owner>(0, 8)));
  train(3);
  ASSERT_NE(jobs.finish(trainer_, never), nullptr);
  jobs.share_chunks(chunks_of(bubbles_), std::nullopt);
  for (job_result const& one : jobs.results()) EXPECT_EQ(one.chunks, 5U + 1 + 3 + 4);
  jobs.share_chunks(std::nullopt, std::nullopt);
  for (job_result const& one : jobs.results()) EXPECT_FALSE(one.chunks.has_value());
  jobs.share_chunks(std::nullopt, 13);  // what one took alone
  for (job_result const& one : jobs.results()) EXPECT_EQ(one.chunks, 13U);
}

TEST_F(jobs_on_threads, side_work_always_on_is_judged_alike) {
  for (int const spoilt_from : {0, 2}) {
    spoilt_owner owner{spoilt_from};
    owner.prepare(side_.machine());
    always_on naive{side_.machine(), owner, results_kept::all};
    naive.resume();
    while (naive.ended() < 4) std::this_thread::sleep_for(1ms);
    naive.pause();
    ASSERT_TRUE(naive.finish(never));
    EXPECT_EQ(naive.verify().ok, spoilt_from == 0);
    EXPECT_EQ(naive.items(), naive.ended() * items_of_one);
    EXPECT_EQ(naive.chunks(), naive.items());
  }
}

}  // namespace
}  // namespace lull
