// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/queue/agent.hpp>
#include <lull/tests/host/queue/store_contract.hpp>
#include <lull/tests/support/test_folder.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull::queue {

using namespace std::chrono_literals;

inline std::string content(std::filesystem::path const& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// The log of an agent whose lines no test looks at.
inline void say_nothing(std::string const&, std::string const&) {}

/// Agents that run small scripts, with a store of their own.
class agents : public testing::Test {
 protected:
  static constexpr std::chrono::milliseconds lease = 1s;

  explicit agents(store_kind kind = spool_kind(lease)) : kind_(std::move(kind)) {
    kind_.make(at_);
    store_ = kind_.open(at_);
  }

  /// A job whose shell script has its result in $1, its checkpoint's folder in $2 and its attempt's number in $3.
  job_document scripted(std::string const& script, std::string const& result = "") const {
    job_document made{.name = "scripted", .run = {.command = {script, result.empty() ? "" : folder_.at(result)}}};
    return made;
  }
  std::string submit(job_document const& one) { return store_->submit({&one, 1}).front(); }
  static prepared_job prepare(job_document const& job, attempt const& at) {
    std::string const& script = job.run.command.front();
    std::string const& wanted = job.run.command.back();
    if (script == "refuse") throw usage_error{"this agent does not run it"};
    if (script == "program") return {.arguments = {"/no/such/program"}};
    std::string const result = wanted.empty() ? "" : at.result(wanted).string();
    prepared_job made{
        .arguments = {"/bin/sh", "-c", script, "sh", result, at.checkpoint.string(), std::to_string(at.number)}};
    made.says = {.refused = 2, .stopped = 130, .no_place = 3};
    if (!wanted.empty()) made.results.emplace_back(result, wanted);
    return made;
  }
  std::unique_ptr<agent> make_agent(job_store& store, std::size_t at_once = 1) {
    return std::make_unique<agent>(store, prepare, say_nothing,
                                   agent::options{.jobs_at_once = at_once, .list_every = 5ms});
  }
  /// An agent in another process, which works until nothing is left, or for ever.
  pid_t agent_process(bool ends = true) {
    pid_t const child = ::fork();
    if (child != 0) return child;
    std::unique_ptr<job_store> own;
    while (own == nullptr) {
      try {
        own = kind_.open(at_);
      } catch (device_error const&) {  // a server that a test has killed: an exception would go on to the next test
        std::this_thread::sleep_for(2ms);
      }
    }
    auto const works = make_agent(*own);
    while (!ends || !works->is_idle()) {
      works->tick(std::chrono::steady_clock::now());
      std::this_thread::sleep_for(2ms);
    }
    ::_exit(0);
  }
  template <class So>
  void work_until(agent& works, So so) {
    await_that([&] {
      works.tick(std::chrono::steady_clock::now());
      std::this_thread::sleep_for(1ms);
      return so();
    });
  }
  /// Has an agent do all that there is, and returns what has become of the job.
  job_entry worked_off(std::string const& id) {
    auto const works = make_agent(*store_);
    work_until(*works, [&] { return works->is_idle(); });
    return store_->entry(id);
  }
  /// A job that may not fail once is done in that attempt.
  void expect_done_without_failures(std::string const& script, unsigned attempt) {
    job_document one = scripted(script);
    one.attempts = 1;
    std::string const id = submit(one);
    EXPECT_EQ(worked_off(id).state, entry_state::done);
    EXPECT_EQ(store_->entry(id).attempt, attempt);
    EXPECT_EQ(store_->entry(id).failures, 0U);
  }
  int files_of_attempts() const {
    int count = 0;
    for (auto const& each : std::filesystem::directory_iterator{folder_.path()})
      if (each.path().filename().string().find("attempt") != std::string::npos) ++count;
    return count;
  }
  entry_state state_of(std::string const& id) { return store_->entry(id).state; }
  std::string reason_of(std::string const& id) {
    for (auto all = store_->events(id); !all.empty(); all.pop_back())
      if (!all.back().reason.empty()) return all.back().reason;
    return {};
  }

  test::test_folder folder_;
  std::string const at_ = folder_.at("store");
  store_kind const kind_;
  std::unique_ptr<job_store> store_;
};

}  // namespace lull::queue
