// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/measure/replay.hpp>
#include <lull/host/measure/side_jobs.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/tests/host/contract/probe_owner.hpp>
#include <lull/tests/host/measure/noting_trainer.hpp>

namespace lull {

using namespace std::chrono_literals;

inline constexpr std::uint64_t items_of_one = 40 + 1 + 17 + 30;
inline constexpr std::uint64_t items_of_default = 17 + 1 + 30 + 2 + 9;  // of a probe that is told nothing

/// A probe whose results can be spoilt: from the reset with that number on, or always, one item counts a run that
/// nobody made.
class spoilt_owner final : public task_owner {
 public:
  static constexpr int always = -1;

  explicit spoilt_owner(int from_reset = 0, std::uint32_t grain = 1) : from_reset_(from_reset), grain_(grain) {}

  void prepare(executor& executor) override {
    executor_ = &executor;
    inner_.prepare(executor);
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
  std::vector<std::string> write() override {
    ++written;
    return while_writing();
  }

  int verified = 0;
  int written = 0;
  std::function<std::vector<std::string>()> while_writing = [] { return std::vector<std::string>{}; };

 private:
  void spoil() {
    std::uint32_t const one = 1;
    executor_->write(inner_.arrays()[1].memory, &one, sizeof one);
  }

  probe_owner inner_{probe_task::mutant::none, 0, {40, 1, 17, 30}};
  executor* executor_ = nullptr;
  int const from_reset_;
  std::uint32_t const grain_;
  int resets_ = 0;
};

/// A task with more items than a cursor can count.
class failing_owner final : public task_owner {
 public:
  void prepare(executor& executor) override {
    std::uint64_t const too_many = std::uint64_t{1} << 41;
    extents_ = {executor, std::span{&too_many, 1}};
  }
  job_description describe() const override {
    return lull::describe(probe_task{extents_.data(), 1, nullptr, nullptr, nullptr, nullptr, 1, 0, 0, 0, {}},
                          "failing");
  }
  void reset() override {}
  std::vector<task_array> arrays() const override { return {}; }
  verification verify() override { return {}; }
  std::vector<std::string> write() override { return {}; }

 private:
  device_array<std::uint64_t> extents_;
};

class jobs_on_threads : public testing::Test {
 protected:
  side_jobs& keep_busy(std::vector<std::unique_ptr<task_owner>> owners, results_kept kept = results_kept::all) {
    std::vector<side_task_asked> tasks(1);
    tasks[0] = {"probe", std::move(owners)};
    return start(std::move(tasks), kept);
  }
  side_jobs& start(std::vector<side_task_asked> tasks, results_kept kept) {
    for (side_task_asked const& each : tasks) {
      for (auto const& owner : each.owners) owner->prepare(executor_of(side_));
    }
    jobs_ = std::make_unique<side_jobs>(side_, std::move(tasks), kept, [this](std::string_view line) {
      std::lock_guard const lock{mutex_};
      log_ += std::string{line} + "\n";
    });
    return *jobs_;
  }
  std::string logged() {
    std::lock_guard const lock{mutex_};
    return log_;
  }
  static side_task_asked asked(std::string name, std::unique_ptr<task_owner> owner, int priority = 0) {
    side_task_asked made{std::move(name), {}, priority};
    made.owners.push_back(std::move(owner));
    return made;
  }
  template <class... Task>
  static std::vector<side_task_asked> tasks(Task... each) {
    std::vector<side_task_asked> made;
    (made.push_back(std::move(each)), ...);
    return made;
  }
  template <class... Owner>
  static std::vector<std::unique_ptr<task_owner>> list(std::unique_ptr<Owner>... owners) {
    std::vector<std::unique_ptr<task_owner>> made;
    (made.push_back(std::move(owners)), ...);
    return made;
  }

  /// Bubbles until so many jobs have ended.
  void train(std::uint64_t ended) {
    train_until([&] { return jobs_->ended() >= ended; });
  }
  template <class Until>
  void train_until(Until&& until) {
    auto const give_up = std::chrono::steady_clock::now() + 120s;  // against hangs only
    while (!until() && std::chrono::steady_clock::now() < give_up) train_once();
  }
  /// One bubble.
  void train_once() {
    stage_plan const bubble{{}, {{gap_site::tail, 0, 0ns, 1ms}}, 1ms};
    for (replayed_bubble& one : replay(trainer_, bubble, 1, &side_, [] { return false; }).bubbles)
      bubbles_.push_back(std::move(one));
  }
  using arrays_read = std::vector<std::string>;
  arrays_read bytes_of(task_owner const& owner) {
    arrays_read found;
    for (task_array const& each : owner.arrays()) {
      executor_of(side_).read(found.emplace_back(each.array.bytes(), '\0').data(), each.memory, each.array.bytes());
    }
    return found;
  }
  /// Of a run that nothing interrupts.
  template <class Owner>
  arrays_read solo_bytes(Owner owner) {
    owner.prepare(executor_of(side_));
    EXPECT_TRUE(run_to_end(owner, executor_of(side_)).finished);
    return bytes_of(owner);
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
  runtime side_{{.executor = {.kind = executor_kind::threads, .processors = 2}, .tasks = {type_of<probe_task>()}}};
  std::vector<replayed_bubble> bubbles_;
  std::mutex mutex_;
  std::string log_;
  std::unique_ptr<side_jobs> jobs_;
};

inline bool never() { return false; }
inline bool at_once() { return true; }

}  // namespace lull
