// SPDX-License-Identifier: Apache-2.0
// Tasks that have a machine to themselves, one or several: their times, their turns, and what is saved.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/array.hpp>
#include <lull/host/detail/job/job_core.hpp>
#include <lull/host/error.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/host/threads/executor.hpp>
#include <lull/tests/host/contract/fed_probe_owner.hpp>
#include <lull/tests/host/contract/probe_owner.hpp>
#include <lull/tests/support/held_task.hpp>
#include <lull/tests/support/threads_job.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

/// Rounds of one item each, of which there is one for each unit that was fed.
struct hungry_task {
  static constexpr team_shape shape{.threads = 32};

  std::atomic<std::uint64_t>* asked;
  std::uint64_t rounds;

  std::uint64_t extent(position at, std::uint64_t fed) const noexcept {
    ++*asked;
    return at.round == rounds ? finished : at.round < fed ? 1 : starved;
  }
  void operator()(chunk, auto const&) const noexcept {}
};

/// Rounds of one item each, without end, or with more items than a cursor can count.
struct endless_task {
  static constexpr team_shape shape{.threads = 32};

  bool const* fails;

  std::uint64_t extent(position, std::uint64_t) const noexcept { return *fails ? std::uint64_t{1} << 41 : 1; }
  void operator()(chunk, auto const&) const noexcept {}
};

/// Rounds of one item each, which are written down in the order in which they are done.
struct noting_task {
  static constexpr team_shape shape{.threads = 32};

  std::string* notes;
  char name;
  std::uint64_t rounds;

  std::uint64_t extent(position at, std::uint64_t) const noexcept { return at.round == rounds ? finished : 1; }
  void operator()(chunk, auto const& team) const noexcept {
    if (team.rank() == 0) notes->push_back(name);
  }
};

class owner_on_threads : public task_owner {
 public:
  void prepare(executor&) override {}
  void reset() override {}
  std::vector<task_array> arrays() const override { return {}; }
  verification verify() override { return {}; }
  std::vector<std::string> write() override { return {}; }
};

/// Lets its job starve for a while before each unit.
class late_owner final : public owner_on_threads {
 public:
  static constexpr std::uint64_t rounds = 3;
  static constexpr std::chrono::nanoseconds late = 30ms;

  job_description describe() const override { return test::threads_job(hungry_task{&asked_, rounds}); }
  void serve(job& about) override {
    for (std::uint64_t fed = 0; fed < rounds; ++fed) {
      another_bubble();  // after the one of the previous unit; a bubble that is open when `late` ends finds no input
                         // either
      std::this_thread::sleep_for(late);
      another_bubble();
      about.feed(fed + 1);
      EXPECT_TRUE(within_time([&] { return about.rounds() > fed; }));
    }
  }

 private:
  /// The task asks once a bubble, so the second question needs another bubble.
  void another_bubble() {
    EXPECT_TRUE(within_time([this, before = asked_.load()] { return asked_ >= before + 2; }));
  }
  mutable std::atomic<std::uint64_t> asked_ = 0;
};

/// Feeds one unit when it is told to.
class waiting_owner final : public owner_on_threads {
 public:
  explicit waiting_owner(std::atomic<bool> const& input) : input_(input) {}
  job_description describe() const override { return test::threads_job(hungry_task{&asked_, 1}); }
  void serve(job& about) override {
    EXPECT_TRUE(within_time([this] { return input_.load(); }));
    about.feed(1);
  }

 private:
  std::atomic<bool> const& input_;
  mutable std::atomic<std::uint64_t> asked_ = 0;
};

/// Saves in memory.
class kept_state final : public job_saver {
 public:
  explicit kept_state(bool due = false) : due_(due) {}
  void begin(detail::job_core& job) override {
    if (!words.empty()) job.restore(words);
  }
  void save(detail::job_core& job) override {
    ++saves;
    if (fails) throw std::runtime_error{"the disk is full"};
    words = job.save();
  }
  void put_off() override { ++put_off_; }
  bool wants_save() const override { return due_ && put_off_ == 0; }
  void forget() noexcept override { words.clear(); }

  std::vector<std::uint64_t> words;
  int saves = 0;
  bool fails = false;

 private:
  bool const due_;
  int put_off_ = 0;
};

class solo_tasks : public testing::Test {
 protected:
  std::vector<solo_run> run(std::vector<solo_task> const& tasks, stop_question stop = {}) {
    return run_solo(executor_, tasks, {.stop = std::move(stop), .log = [this](std::string_view line) {
                                         told_ += std::string{line} + '\n';
                                       }});
  }
  static stop_question after_phases(std::uint64_t phases) {
    return [=](std::span<solo_run const> now) { return now.front().phases >= phases; };
  }
  static job_description named(std::string name, job_description job, int priority = 0) {
    job.name = std::move(name);
    job.priority = priority;
    return job;
  }

  threads_executor executor_{{.kind = executor_kind::threads, .processors = 2}};
  std::string told_;
};

TEST_F(solo_tasks, waiting_for_input_is_no_part_of_their_time) {
  late_owner owner;
  auto const begin = std::chrono::steady_clock::now();
  solo_run const found = run_to_end(owner, executor_);
  auto const elapsed = std::chrono::steady_clock::now() - begin;
  EXPECT_TRUE(found.finished);
  EXPECT_EQ(found.chunks, late_owner::rounds);
  EXPECT_GT(found.time, 0ns);
  EXPECT_GE(elapsed, found.time + late_owner::rounds * late_owner::late);
}

TEST_F(solo_tasks, that_are_stopped_go_on_from_what_was_saved) {
  bool const fails = false;
  job_description const job = test::threads_job(endless_task{&fails});
  kept_state saves;
  solo_run const first = run({{job, nullptr, &saves}}, after_phases(3)).front();
  EXPECT_FALSE(first.finished);
  EXPECT_EQ(first.problem, nullptr);
  EXPECT_GE(first.items, 2U);
  EXPECT_EQ(first.brought, 0U);
  EXPECT_LE(first.items, first.phases) << "the host is told of short phases late, but not of where a bubble ended";
  EXPECT_EQ(saves.saves, 1);
  solo_run const again = run({{job, nullptr, &saves}}, after_phases(first.phases + 3)).front();
  EXPECT_EQ(again.brought, first.items);
  EXPECT_GT(again.items, again.brought);
  EXPECT_NEAR(again.items_per_s() * std::chrono::duration<double>(again.time).count(),
              static_cast<double>(again.items - again.brought), 1e-3);
}

TEST_F(solo_tasks, that_ended_before_are_not_done_again) {
  std::string notes;
  job_description const job = test::threads_job(noting_task{&notes, 'a', 5});
  kept_state saves;
  EXPECT_TRUE(run({{job, nullptr, &saves}}).front().finished);
  solo_run const again = run({{job, nullptr, &saves}}).front();
  EXPECT_TRUE(again.finished);
  EXPECT_EQ(again.bubbles, 0U);
  EXPECT_EQ(again.items, 5U);
  EXPECT_EQ(notes, "aaaaa");
}

TEST_F(solo_tasks, that_are_saved_often_come_to_the_same) {
  std::string notes;
  kept_state saves{true};
  solo_run const found = run({{test::threads_job(noting_task{&notes, 'a', 2000}), nullptr, &saves}}).front();
  EXPECT_TRUE(found.finished);
  EXPECT_EQ(notes.size(), 2000U);
  EXPECT_EQ(saves.saves, static_cast<int>(found.bubbles));
}

TEST_F(solo_tasks, that_fail_leave_what_was_saved_before) {
  bool fails = false;
  job_description const job = test::threads_job(endless_task{&fails});
  kept_state saves;
  run({{job, nullptr, &saves}}, after_phases(3));
  std::vector<std::uint64_t> const kept = saves.words;
  fails = true;
  solo_run const found = run({{job, nullptr, &saves}}).front();
  EXPECT_FALSE(found.finished);
  EXPECT_THROW(std::rethrow_exception(found.problem), usage_error);
  EXPECT_EQ(told_, "job 'job' failed: a phase has more items than a cursor can count\n");
  EXPECT_EQ(saves.saves, 1);
  EXPECT_EQ(saves.words, kept);
}

TEST_F(solo_tasks, that_cannot_be_saved_say_so_while_there_is_time_to_stop_them) {
  bool const fails = false;
  kept_state saves{true};
  saves.fails = true;
  std::string told_in_time;
  auto const stop = [&](std::span<solo_run const>) {
    told_in_time = told_;
    return !told_.empty();
  };
  solo_run const found = run({{test::threads_job(endless_task{&fails}), nullptr, &saves}}, stop).front();
  EXPECT_FALSE(found.finished);
  EXPECT_EQ(told_in_time, "job 'job' is not saved, which is tried again: the disk is full\n");
  EXPECT_EQ(told_, told_in_time + "job 'job' is not saved at its end: the disk is full\n");
  EXPECT_EQ(found.save_problem, "the disk is full");
  EXPECT_EQ(saves.saves, 2);
}

TEST_F(solo_tasks, with_a_chunk_that_takes_long_are_waited_for_with_a_word) {
  std::atomic<bool> began = false;
  std::atomic<bool> goes = false;
  std::string told;
  auto const let_go = [&](std::string_view line) {
    told += line;
    goes = true;
    goes.notify_all();
  };
  auto const stop = [&](std::span<solo_run const>) { return began.load(); };
  solo_run const found =
      run_to_end(test::threads_job(held_task{&began, &goes}), executor_, {.stop = stop, .log = let_go});
  EXPECT_EQ(found.items, 1U);
  EXPECT_NE(told.find("takes longer than 2s: a smaller grain makes it shorter"), std::string::npos) << told;
}

TEST_F(solo_tasks, beside_an_error_are_left_in_order) {
  fed_probe_owner fed;
  fed.prepare(executor_);
  auto const fails = [](std::span<solo_run const> now) -> bool {
    if (now.front().phases != 0) throw std::runtime_error{"beside it"};
    return false;
  };
  EXPECT_THROW(run({{fed.describe(), &fed}}, fails), std::runtime_error);
}

TEST_F(solo_tasks, take_their_turns_by_priority_and_then_in_their_order) {
  std::string notes;
  auto const task = [&](char name, int priority) {
    return solo_task{named({name}, test::threads_job(noting_task{&notes, name, 3}), priority)};
  };
  std::vector<solo_run> const found = run({task('a', 0), task('b', 1), task('c', 0), task('d', 1)});
  EXPECT_EQ(notes, "bbbdddaaaccc");
  for (solo_run const& each : found) {
    EXPECT_TRUE(each.finished);
    EXPECT_EQ(each.chunks, 3U);
    EXPECT_EQ(each.phases, 3U);
    EXPECT_GT(each.items_per_s(), 0);
  }
}

TEST_F(solo_tasks, of_several_end_with_the_bits_of_each_one_alone) {
  probe_owner one;
  probe_owner other{probe_task::mutant::none, 0U, {40, 1, 17, 30}};
  fed_probe_owner fed;
  std::vector<solo_task> tasks;
  for (task_owner* const each :
       {static_cast<task_owner*>(&fed), static_cast<task_owner*>(&one), static_cast<task_owner*>(&other)}) {
    each->prepare(executor_);
    tasks.push_back({each->describe(), each});
  }
  for (solo_run const& each : run(tasks)) EXPECT_TRUE(each.finished);
  for (solo_task const& each : tasks) EXPECT_TRUE(each.owner->verify().ok) << each.job.name;
}

TEST_F(solo_tasks, that_starve_let_the_others_through) {
  std::atomic<bool> input = false;
  waiting_owner first{input};
  waiting_owner second{input};
  std::string notes;
  std::vector<solo_task> const tasks{{named("first", first.describe(), 2), &first},
                                     {named("second", second.describe(), 1), &second},
                                     {test::threads_job(noting_task{&notes, 'a', 100})},
                                     {test::threads_job(noting_task{&notes, 'b', 100})}};
  auto const feed = [&](std::span<solo_run const> now) {
    if (now[2].finished && now[3].finished) {
      input = true;
      input.notify_all();
    }
    return false;
  };
  for (solo_run const& each : run(tasks, feed)) EXPECT_TRUE(each.finished);
  EXPECT_EQ(notes, std::string(100, 'a') + std::string(100, 'b'));
}

/// … though the task that has the machine meanwhile has no end.
TEST_F(solo_tasks, that_starve_have_their_turn_again_when_there_is_input) {
  std::atomic<bool> input = false;
  waiting_owner first{input};
  bool const fails = false;
  std::vector<solo_task> const tasks{{first.describe(), &first}, {test::threads_job(endless_task{&fails})}};
  auto const stop = [&](std::span<solo_run const> now) {
    if (now[1].phases > 3) {
      input = true;
      input.notify_all();
    }
    return now[0].finished;
  };
  // Less than a lease, after which the other task would leave anyway.
  std::vector<solo_run> const found = run_solo(executor_, tasks, {.at_most = 1500ms, .stop = stop});
  EXPECT_TRUE(found[0].finished);
  EXPECT_FALSE(found[1].finished);
}

TEST_F(solo_tasks, that_fail_end_alone) {
  bool const fails = true;
  fed_probe_owner torn{fed_probe_owner::feeds::one_and_throws};
  starving_owner starving;
  probe_owner whole;
  for (task_owner* const each :
       {static_cast<task_owner*>(&torn), static_cast<task_owner*>(&starving), static_cast<task_owner*>(&whole)})
    each->prepare(executor_);
  std::vector<solo_run> const found = run({{named("bad", test::threads_job(endless_task{&fails}))},
                                           {named("torn", torn.describe()), &torn},
                                           {named("starving", starving.describe()), &starving},
                                           {whole.describe(), &whole}});
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].finished, i == 3) << i;
    EXPECT_EQ(found[i].problem == nullptr, i == 3) << i;
  }
  EXPECT_THROW(std::rethrow_exception(found[1].problem), std::runtime_error);
  EXPECT_TRUE(whole.verify().ok);
  for (char const* const each :
       {"job 'bad' failed: a phase has more items than a cursor can count\n", "job 'torn' failed: the file is torn\n",
        "job 'starving' failed: the task starves, and its owner no longer feeds it\n"})
    EXPECT_NE(told_.find(each), std::string::npos) << told_;
  EXPECT_EQ(std::count(told_.begin(), told_.end(), '\n'), 3) << told_;
}

}  // namespace
}  // namespace lull
