// SPDX-License-Identifier: Apache-2.0
// Jobs of several tasks at once, on threads: those that fail, complain or starve let the others go on.
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

#include <lull/host/measure/always_on.hpp>
#include <lull/host/measure/finish.hpp>
#include <lull/tests/host/measure/jobs_on_threads.hpp>
#include <lull/tests/support/held_task.hpp>
#include <lull/tests/support/threads_job.hpp>

namespace lull {
namespace {

/// Notes when it is destroyed, and with it what its task uses.
class held_owner final : public task_owner {
 public:
  struct seen {
    std::atomic<bool> began = false;
    std::atomic<bool> goes = false;
    std::atomic<bool> owner_gone = false;
  };
  explicit held_owner(seen& all) : seen_(all) {}
  ~held_owner() override { seen_.owner_gone = true; }

  void prepare(executor&) override {}
  job_description describe() const override { return test::threads_job(held_task{&seen_.began, &seen_.goes}); }
  void reset() override {}
  std::vector<task_array> arrays() const override { return {}; }
  verification verify() override { return {}; }
  std::vector<std::string> write() override { return {}; }

 private:
  seen& seen_;
};

TEST_F(jobs_on_threads, what_a_chunk_without_end_uses_is_never_freed) {
  held_owner::seen seen;
  start(tasks(asked("held", std::make_unique<held_owner>(seen))), results_kept::all);
  train_until([&] { return seen.began.load(); });
  jobs_.reset();
  EXPECT_FALSE(seen.owner_gone);
  seen.goes = true;
  seen.goes.notify_all();
  EXPECT_TRUE(side_.wait_all(std::chrono::minutes{1}));
}

TEST_F(jobs_on_threads, a_task_that_fails_is_left_and_the_others_go_on) {
  for (std::uint64_t const again : {3U, 0U}) {
    start(tasks(asked("bad", std::make_unique<failing_owner>()), asked("probe", std::make_unique<spoilt_owner>())),
          results_kept::all);
    if (again != 0) {
      train_until([&] { return jobs_->failed(); });
      train(jobs_->ended() + again);
    }
    jobs_->finish(trainer_, never);
    EXPECT_TRUE(jobs_->failed());
    EXPECT_EQ(logged(), "job 'bad' failed: a phase has more items than a cursor can count\n");
    EXPECT_EQ(jobs_->finished(0), nullptr);
    EXPECT_THROW(jobs_->verify(0), usage_error);
    ASSERT_NE(jobs_->finished(1), nullptr);
    EXPECT_TRUE(jobs_->verify(1).ok);
    int bad = 0;
    for (job_result const& one : jobs_->results()) {
      bad += one.name == "bad" ? 1 : 0;
      EXPECT_EQ(one.state, one.name == "bad" ? "failed" : "finished");
      EXPECT_EQ(one.verified.has_value(), one.name != "bad");
      EXPECT_TRUE(one.verified.value_or(true));
    }
    EXPECT_EQ(bad, 1);
    jobs_.reset();
    log_.clear();
  }
}

/// A probe that starves after its first phase until it is fed.
class fed_owner : public task_owner {
 public:
  void prepare(executor& executor) override { inner_.prepare(executor); }
  job_description describe() const override {
    job_description made = inner_.describe();
    probe_task task;
    std::memcpy(&task, made.functor.bytes, sizeof task);
    task.feeds = 1;
    std::memcpy(made.functor.bytes, &task, sizeof task);
    return made;
  }
  void reset() override { inner_.reset(); }
  std::vector<task_array> arrays() const override { return {}; }
  verification verify() override { return inner_.verify(); }
  std::vector<std::string> write() override { return {"what there is"}; }

 protected:
  static constexpr std::uint64_t all = 100;

 private:
  probe_owner inner_;
};

/// Ends with as many failures as are asked for. With none asked for it throws while it is served, and its job cannot
/// end before.
class complaining_owner final : public fed_owner {
 public:
  explicit complaining_owner(std::uint64_t failures) : failures_(failures) {}
  void serve(job& fed) override {
    if (failures_ == 0) throw input_error{"folder", 3, "is gone"};
    fed.feed(all);
  }
  std::uint64_t failures() const override { return failures_; }

 private:
  std::uint64_t failures_;
};

TEST_F(jobs_on_threads, an_owner_that_complains_is_asked_once) {
  for (std::uint64_t const failures : {0U, 1U, 2U}) {
    start(tasks(asked("bad", std::make_unique<complaining_owner>(failures)),
                asked("probe", std::make_unique<spoilt_owner>())),
          results_kept::none);
    train_until([&] { return jobs_->failed() && jobs_->ended() >= 4; });
    jobs_->finish(trainer_, never);
    std::string const said = logged();
    EXPECT_EQ(said.find("job 'bad' failed: "), 0U) << said;
    EXPECT_NE(said.find(failures == 0   ? "folder:3: is gone"
                        : failures == 1 ? "name 1 failure\n"
                                        : "name 2 failures\n"),
              std::string::npos)
        << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_EQ(jobs_->finished(0) != nullptr, failures != 0);
    EXPECT_NE(jobs_->finished(1), nullptr);
    outcome const found = finish(jobs_->ended_tasks(), results_judged::no);
    EXPECT_EQ(found.good, failures == 0);  // it has no results to be bad
    EXPECT_EQ(found.all_finished, failures != 0);
    EXPECT_EQ(found.lines, failures == 0 ? std::vector<std::string>{} : std::vector<std::string>{"bad: what there is"});
    jobs_.reset();
    log_.clear();
  }
}

TEST_F(jobs_on_threads, several_tasks_end_with_the_bits_of_each_one_alone) {
  start(tasks(asked("a", std::make_unique<spoilt_owner>()), asked("b", std::make_unique<probe_owner>()),
              asked("c", std::make_unique<spoilt_owner>(0, 3), 1),
              asked("d", std::make_unique<probe_owner>(probe_task::mutant::none, 0U))),
        results_kept::all);
  jobs_->finish(trainer_, never);
  EXPECT_FALSE(jobs_->failed());
  EXPECT_EQ(jobs_->ended(), 4U);
  EXPECT_TRUE(jobs_->idle());
  outcome const found = finish(jobs_->ended_tasks(), results_judged::yes);
  EXPECT_TRUE(found.good);
  EXPECT_TRUE(found.all_finished);
  ASSERT_EQ(found.lines.size(), 4U);
  EXPECT_EQ(found.lines[1].substr(0, 13), "b: verified: ");
  for (job_result const& one : jobs_->results()) {
    EXPECT_EQ(one.state, "finished");
    EXPECT_EQ(one.verified, true);
    EXPECT_FALSE(one.chunks.has_value());
    EXPECT_EQ(one.items, one.name == "a" || one.name == "c" ? items_of_one : items_of_default);
  }
  jobs_->share_chunks(0, {1, std::nullopt, 3, 4});  // those of several are not told apart in bubbles
  for (job_result const& one : jobs_->results())
    EXPECT_EQ(one.chunks.value_or(2), static_cast<std::uint64_t>(one.name[0] - 'a' + 1));
  EXPECT_EQ(bytes_of(*jobs_->finished(0)), solo_bytes(spoilt_owner{}));
  EXPECT_EQ(bytes_of(*jobs_->finished(1)), solo_bytes(probe_owner{}));
}

TEST_F(jobs_on_threads, of_several_tasks_each_is_submitted_anew_and_counted) {
  start(tasks(asked("a", std::make_unique<spoilt_owner>()), asked("b", std::make_unique<spoilt_owner>(2)),
              asked("c", std::make_unique<spoilt_owner>())),
        results_kept::all);
  auto const each_has_begun_again = [&] {
    std::vector<std::uint64_t> const now = jobs_->items();
    return std::all_of(now.begin(), now.end(), [](std::uint64_t each) { return each > items_of_one; });
  };
  train_until([&] { return jobs_->ended() >= 9 && each_has_begun_again(); });
  ASSERT_TRUE(side_.pause_all(60s));
  std::vector<std::uint64_t> const items = jobs_->items();
  side_.resume_all();
  std::uint64_t in_bubbles = 0;
  for (replayed_bubble const& one : bubbles_) in_bubbles += one.harvested ? one.harvested->record().items : 0;
  EXPECT_EQ(items[0] + items[1] + items[2], in_bubbles);
  for (std::uint64_t const each : items) EXPECT_GT(each, items_of_one);
  jobs_->finish(trainer_, never);
  for (std::size_t task = 0; task < 3; ++task) {
    ASSERT_NE(jobs_->finished(task), nullptr) << task;
    EXPECT_EQ(jobs_->verify(task).ok, task != 1) << task;  // spoilt from its second reset on
  }
}

/// Starves for ever, unless `input` says that there is more.
class starving_owner final : public fed_owner {
 public:
  explicit starving_owner(std::atomic<bool> const& input) : input_(input) {}
  void serve(job& fed) override {
    while (!fed.wait(1ms)) {
      if (input_) fed.feed(all);
    }
  }

 private:
  std::atomic<bool> const& input_;
};

TEST_F(jobs_on_threads, those_that_starve_let_the_others_through) {
  std::atomic<bool> input = false;
  start(tasks(asked("a", std::make_unique<starving_owner>(input)), asked("b", std::make_unique<starving_owner>(input)),
              asked("c", std::make_unique<spoilt_owner>()), asked("d", std::make_unique<spoilt_owner>())),
        results_kept::all);
  train(2);  // a and b have the places, and no input
  EXPECT_GE(jobs_->ended(), 2U);
  EXPECT_EQ(jobs_->finished(0), nullptr);
  input = true;
  jobs_->finish(trainer_, never);
  EXPECT_TRUE(finish(jobs_->ended_tasks(), results_judged::yes).good);
}

}  // namespace
}  // namespace lull
