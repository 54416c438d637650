// SPDX-License-Identifier: Apache-2.0
// Jobs that have the machine to themselves: what their time is, and what is kept of those that cannot go on.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <lull/apps/lull/checkpoints.hpp>
#include <lull/apps/lull/solo.hpp>
#include <lull/apps/registry/registry.hpp>
#include <lull/host/array.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/threads/executor.hpp>
#include <lull/tests/support/held_task.hpp>
#include <lull/tests/support/test_folder.hpp>
#include <lull/tests/support/threads_job.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;
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

  std::uint64_t* rounds;
  bool const* fails;

  std::uint64_t extent(position, std::uint64_t) const noexcept { return *fails ? std::uint64_t{1} << 41 : 1; }
  void operator()(chunk, auto const&) const noexcept { *rounds += 1; }
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
      another_bubble();  // than that in which the unit before was done; and what is open when `late` is over is asked
                         // in vain, too
      std::this_thread::sleep_for(late);
      another_bubble();
      about.feed(fed + 1);
      while (about.rounds() <= fed) std::this_thread::yield();
    }
  }

 private:
  /// In one bubble it asks once: the second time is in another.
  void another_bubble() {
    for (std::uint64_t const before = asked_; asked_ < before + 2;) std::this_thread::yield();
  }
  mutable std::atomic<std::uint64_t> asked_ = 0;
};

class endless_owner final : public owner_on_threads {
 public:
  void prepare(executor& machine) override { rounds_ = {machine, 1}; }
  job_description describe() const override { return test::threads_job(endless_task{rounds_.data(), &fails_}); }
  std::vector<task_array> arrays() const override { return {array_of("rounds", rounds_)}; }
  void fail_from_now_on() { fails_ = true; }

 private:
  machine_array<std::uint64_t> rounds_;
  bool fails_ = false;
};

class solo : public testing::Test {
 protected:
  checkpoints saved(task_owner& owner, std::chrono::nanoseconds every) {
    return {files_.path(), every, true, "endless", parse_task("compute", known_tasks()), owner, machine_};
  }

  test::test_folder files_;
  fs::path const file_ = files_.path() / "endless.safetensors";
  threads_executor machine_{{.kind = executor_kind::threads, .processors = 2}};
};

TEST_F(solo, waiting_for_input_is_no_part_of_a_jobs_time) {
  late_owner owner;
  solo_result const found = run_solo(
      machine_, owner.describe(), [](std::uint64_t) { return false; }, &owner);
  EXPECT_EQ(found.state, job_state::finished);
  EXPECT_EQ(found.chunks, late_owner::rounds);
  EXPECT_GT(found.time, 0ns);
  EXPECT_GE(found.elapsed, found.time + late_owner::rounds * late_owner::late);
}

TEST_F(solo, a_job_that_fails_leaves_what_was_saved_before) {
  endless_owner owner;
  owner.prepare(machine_);
  checkpoints before = saved(owner, 1h);
  auto const stop = [](std::uint64_t phases) { return phases >= 3; };
  ASSERT_EQ(run_solo(machine_, owner.describe(), stop, &owner, &before).state, job_state::cancelled);
  std::string const kept = read_file(file_, 1 << 20);
  owner.fail_from_now_on();
  checkpoints again = saved(owner, 1h);
  EXPECT_EQ(run_solo(
                machine_, owner.describe(), [](std::uint64_t) { return false; }, &owner, &again)
                .state,
            job_state::failed);
  EXPECT_TRUE(again.resumed());
  EXPECT_EQ(read_file(file_, 1 << 20), kept);
}

TEST_F(solo, a_job_that_cannot_be_saved_says_so_while_there_is_time_to_stop_it) {
  fs::create_symlink("nowhere/at all", file_);
  endless_owner owner;
  owner.prepare(machine_);
  checkpoints saves = saved(owner, 1ns);
  std::string told;
  std::string told_in_time;
  auto const give_up = std::chrono::steady_clock::now() + 60s;  // against hangs only
  auto const stop = [&](std::uint64_t) {
    told_in_time = told;
    return !told.empty() || std::chrono::steady_clock::now() > give_up;
  };
  solo_result const found =
      run_solo(machine_, owner.describe(), stop, &owner, &saves, [&](std::string_view line) { told += line; });
  EXPECT_EQ(found.state, job_state::cancelled);
  EXPECT_NE(told_in_time.find("is not saved any more: "), std::string::npos) << told_in_time;
  EXPECT_NE(told_in_time.find(found.save_problem), std::string::npos);
  EXPECT_EQ(told, told_in_time);  // once
}

TEST_F(solo, a_chunk_that_is_longer_than_a_lease_is_waited_for_with_a_word) {
  std::atomic<bool> began = false;
  std::atomic<bool> goes = false;
  std::string told;
  auto const let_go = [&](std::string_view line) {
    told += line;
    goes = true;
    goes.notify_all();
  };
  solo_result const found = run_solo(
      machine_, test::threads_job(held_task{&began, &goes}), [&](std::uint64_t) { return began.load(); }, nullptr,
      nullptr, let_go);
  EXPECT_EQ(found.items, 1U);
  EXPECT_NE(told.find("takes longer than 2s: a smaller grain makes it shorter"), std::string::npos) << told;
}

}  // namespace
}  // namespace lull
