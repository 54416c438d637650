// SPDX-License-Identifier: Apache-2.0
// Jobs of one task that keep a runtime busy, on threads: submitted again, run to their end, judged.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/measure/always_on.hpp>
#include <lull/host/measure/finish.hpp>
#include <lull/tests/host/measure/jobs_on_threads.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

TEST_F(jobs_on_threads, a_job_that_ends_early_is_submitted_anew_and_each_is_verified) {
  auto owner = std::make_unique<spoilt_owner>();
  spoilt_owner const& seen = *owner;
  side_jobs& jobs = keep_busy(list(std::move(owner)));
  train(4);
  jobs.finish(trainer_, never);
  ASSERT_NE(jobs.finished(0), nullptr);
  expect_all_finished(5);
  verification const judged = jobs.verify(0);
  EXPECT_TRUE(judged.ok) << judged.message;
  EXPECT_EQ(seen.verified, 1);
  for (job_result const& one : jobs.results()) EXPECT_EQ(one.verified, true);
  EXPECT_FALSE(jobs.failed());
}

TEST_F(jobs_on_threads, a_successor_takes_turns) {
  side_jobs& jobs = keep_busy(list(std::make_unique<spoilt_owner>(), std::make_unique<spoilt_owner>()));
  train(4);
  jobs.finish(trainer_, never);
  ASSERT_NE(jobs.finished(0), nullptr);
  EXPECT_TRUE(jobs.verify(0).ok);
  EXPECT_GE(jobs.ended(), 5U);
  std::uint64_t right = 0;
  for (job_result const& one : jobs.results()) right += one.verified == true ? 1 : 0;
  EXPECT_EQ(right, jobs.ended());
}

TEST_F(jobs_on_threads, what_is_unfinished_is_run_to_its_end) {
  side_jobs& jobs = keep_busy(list(std::make_unique<spoilt_owner>()));
  jobs.finish(trainer_, never);  // in no bubble but its own
  ASSERT_NE(jobs.finished(0), nullptr);
  expect_all_finished(1);
  EXPECT_EQ(jobs.ended(), 1U);
  jobs.share_chunks(0, {std::nullopt});
  EXPECT_EQ(jobs.results()[0].chunks, items_of_one);
}

TEST_F(jobs_on_threads, a_stop_cancels_what_is_unfinished) {
  side_jobs& jobs = keep_busy(list(std::make_unique<spoilt_owner>()));
  jobs.finish(trainer_, at_once);
  EXPECT_EQ(jobs.finished(0), nullptr);
  EXPECT_EQ(jobs.ended(), 0U);
  EXPECT_TRUE(jobs.results().empty());  // it had not begun
  EXPECT_EQ(trainer_.noted(), "");
}

TEST_F(jobs_on_threads, what_has_finished_is_written_though_the_next_is_stopped) {
  auto owner = std::make_unique<spoilt_owner>();
  spoilt_owner const& seen = *owner;
  side_jobs& jobs = keep_busy(list(std::move(owner)));
  train(2);
  jobs.finish(trainer_, at_once);
  EXPECT_TRUE(jobs.ended_tasks()[0].written.has_value());
  EXPECT_EQ(seen.written, 1);
  EXPECT_TRUE(finish(jobs.ended_tasks(), results_judged::no).all_finished);
}

/// An owner that writes until `go_on` is set.
struct slow_writer {
  std::atomic<bool> writes = false;
  std::atomic<bool> go_on = false;
  bool was_told = false;  // to go on, and did not give up
  int times = 0;

  std::unique_ptr<spoilt_owner> make() {
    auto owner = std::make_unique<spoilt_owner>();
    owner->while_writing = [this] {
      ++times;
      writes = true;
      for (int i = 0; i < 10'000 && !go_on; ++i) std::this_thread::sleep_for(1ms);
      was_told = go_on;
      return std::vector<std::string>{"written"};
    };
    return owner;
  }
};

TEST_F(jobs_on_threads, the_others_go_on_while_results_are_written) {
  slow_writer slow;
  side_task_asked quick = asked("quick", std::make_unique<spoilt_owner>());
  quick.owners.push_back(std::make_unique<spoilt_owner>());
  side_jobs& jobs = start(tasks(asked("slow", slow.make()), std::move(quick)), results_kept::none);
  train_until([&] { return slow.writes.load(); });
  std::uint64_t const before = jobs.ended();
  train(before + 4);
  slow.go_on = true;
  jobs.finish(trainer_, at_once);
  EXPECT_TRUE(slow.was_told);
  EXPECT_EQ(jobs.ended_tasks()[0].written, std::vector<std::string>{"written"});
}

TEST_F(jobs_on_threads, a_job_whose_results_are_written_follows_itself) {
  slow_writer slow;
  side_jobs& jobs = keep_busy(list(slow.make()));
  train_until([&] { return slow.writes.load(); });
  for (int bubble = 0; bubble < 40; ++bubble) train_once();  // several jobs long
  EXPECT_EQ(jobs.ended(), 1U);
  slow.go_on = true;
  train(3);
  jobs.finish(trainer_, never);
  expect_all_finished(3);
  EXPECT_TRUE(jobs.verify(0).ok);
}

TEST_F(jobs_on_threads, results_of_one_task_are_written_after_those_of_another) {
  slow_writer one;
  slow_writer other;
  side_jobs& jobs = start(tasks(asked("one", one.make()), asked("other", other.make())), results_kept::none);
  train_until([&] { return jobs.ended() == 2 && (one.writes || other.writes); });
  for (int bubble = 0; bubble < 40; ++bubble) train_once();
  EXPECT_NE(one.writes, other.writes);
  one.go_on = other.go_on = true;
  train(4);
  jobs.finish(trainer_, at_once);
  EXPECT_TRUE(one.was_told && other.was_told);
}

TEST_F(jobs_on_threads, what_was_written_is_not_written_again) {
  slow_writer slow;
  side_jobs& jobs = keep_busy(list(slow.make()), results_kept::none);
  train_until([&] { return slow.writes.load(); });
  jobs.finish(trainer_, [&] { return slow.go_on = true; });  // asked when no job is to follow
  ASSERT_NE(jobs.finished(0), nullptr);
  outcome const found = finish(jobs.ended_tasks(), results_judged::no);
  EXPECT_EQ(found.lines, std::vector<std::string>{"written"});
  EXPECT_EQ(slow.times, 1);
}

TEST_F(jobs_on_threads, results_that_cannot_be_written_end_their_task_alone) {
  auto owner = std::make_unique<spoilt_owner>();
  owner->while_writing = []() -> std::vector<std::string> { throw limit_error{"the disk is full"}; };
  side_jobs& jobs = start(tasks(asked("lost", std::move(owner)), asked("other", std::make_unique<spoilt_owner>())),
                          results_kept::none);
  train_until([&] { return jobs.failed(); });
  std::uint64_t const before = jobs.ended();
  train(before + 3);
  jobs.finish(trainer_, never);
  EXPECT_EQ(logged(), "job 'lost' failed: the disk is full\n");
}

TEST_F(jobs_on_threads, a_wrong_job_between_right_ones_is_found) {
  side_jobs& jobs = keep_busy(list(std::make_unique<spoilt_owner>(2)));
  train(4);
  jobs.finish(trainer_, never);
  ASSERT_NE(jobs.finished(0), nullptr);
  verification const judged = jobs.verify(0);
  EXPECT_FALSE(judged.ok);
  EXPECT_NE(judged.message.find("another result"), std::string::npos) << judged.message;
  auto const results = jobs.results();
  ASSERT_GE(results.size(), 4U);
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i].verified, i < 2) << i;
}

TEST_F(jobs_on_threads, jobs_that_are_wrong_alike_are_found) {
  side_jobs& jobs = keep_busy(list(std::make_unique<spoilt_owner>(spoilt_owner::always)));
  train(2);
  jobs.finish(trainer_, never);
  ASSERT_NE(jobs.finished(0), nullptr);
  EXPECT_FALSE(jobs.verify(0).ok);
  for (job_result const& one : jobs.results()) EXPECT_EQ(one.verified, false);
}

TEST_F(jobs_on_threads, results_are_not_read_unless_they_are_kept) {
  side_jobs& jobs = keep_busy(list(std::make_unique<spoilt_owner>(1)), results_kept::none);
  train(2);
  jobs.finish(trainer_, never);
  ASSERT_NE(jobs.finished(0), nullptr);
  EXPECT_THROW(jobs.verify(0), usage_error);
  for (job_result const& one : jobs.results()) EXPECT_FALSE(one.verified.has_value());
}

TEST_F(jobs_on_threads, chunks_are_shared_out) {
  side_jobs& jobs = keep_busy(list(std::make_unique<spoilt_owner>(0, 8)));
  train(3);
  jobs.finish(trainer_, never);
  ASSERT_NE(jobs.finished(0), nullptr);
  jobs.share_chunks(chunks_of(bubbles_), {std::nullopt});
  for (job_result const& one : jobs.results()) EXPECT_EQ(one.chunks, 5U + 1 + 3 + 4);
  jobs.share_chunks(std::nullopt, {std::nullopt});
  for (job_result const& one : jobs.results()) EXPECT_FALSE(one.chunks.has_value());
  jobs.share_chunks(std::nullopt, {13});  // what one took alone
  for (job_result const& one : jobs.results()) EXPECT_EQ(one.chunks, 13U);
}

TEST_F(jobs_on_threads, side_work_always_on_is_judged_alike) {
  for (int const spoilt_from : {0, 2}) {
    spoilt_owner owner{spoilt_from};
    owner.prepare(executor_of(side_));
    always_on naive{executor_of(side_), owner, results_kept::all};
    naive.resume();
    await_that([&] { return naive.ended() >= 4; });
    naive.pause();
    ASSERT_TRUE(naive.finish([](auto const&) { return false; }));
    EXPECT_EQ(naive.verify().ok, spoilt_from == 0);
    EXPECT_EQ(naive.done().items, naive.ended() * items_of_one);
    EXPECT_EQ(naive.done().chunks, naive.done().items);
  }
}

}  // namespace
}  // namespace lull
