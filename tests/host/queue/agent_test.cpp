// SPDX-License-Identifier: Apache-2.0
// Agents that run small programs, and what becomes of jobs when programs or agents end in any way.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/queue/agent.hpp>
#include <lull/host/queue/spool.hpp>
#include <lull/tests/support/effort.hpp>
#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/test_folder.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull::queue {
namespace {

using namespace std::chrono_literals;

std::string content(std::filesystem::path const& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

class agents : public testing::Test {
 protected:
  agents() {
    spool::make(at_, lease);
    store_ = std::make_unique<spool>(at_);
  }
  static constexpr std::chrono::nanoseconds lease = 1s;

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
    if (!wanted.empty()) made.results.emplace_back(result, wanted);
    return made;
  }
  std::unique_ptr<agent> make_agent(job_store& store, std::size_t at_once = 1) {
    return std::make_unique<agent>(
        store, prepare, [](std::string const&) {}, agent::options{.jobs_at_once = at_once, .list_every = 5ms});
  }
  /// An agent in another process, which works until nothing is left, or for ever.
  pid_t agent_process(bool ends = true) {
    pid_t const child = ::fork();
    if (child != 0) return child;
    spool own{at_};
    auto const works = make_agent(own);
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
  job_stage stage_of(std::string const& id) { return store_->entry(id).stage; }
  std::string reason_of(std::string const& id) {
    for (auto all = store_->events(id); !all.empty(); all.pop_back())
      if (!all.back().reason.empty()) return all.back().reason;
    return {};
  }

  test::test_folder folder_;
  std::string const at_ = folder_.at("spool");
  std::unique_ptr<spool> store_;
};

TEST(attempt, has_names_of_its_own_for_results) {
  attempt const second{.number = 2};
  EXPECT_EQ(second.result("/data/ranks.csv"), "/data/ranks.attempt-2.csv");
  EXPECT_EQ(second.result("ranks"), "ranks.attempt-2");
  EXPECT_EQ(second.result("a.b/c.tar.gz"), "a.b/c.tar.attempt-2.gz");
  EXPECT_NE(attempt{.number = 3}.result("ranks"), second.result("ranks"));
}

TEST_F(agents, run_a_job_and_put_its_result_in_place) {
  std::string const id = submit(scripted("echo 42 > \"$1\"", "out.csv"));
  job_entry const ended = worked_off(id);
  EXPECT_EQ(ended.stage, job_stage::done);
  EXPECT_TRUE(ended.in_place);
  EXPECT_EQ(ended.attempt, 1U);
  EXPECT_EQ(content(folder_.at("out.csv")), "42\n");
  EXPECT_FALSE(std::filesystem::exists(folder_.at("out.attempt-1.csv")));
  EXPECT_TRUE(store_->agents().empty()) << "it has left";
}

TEST_F(agents, try_again_what_fails_and_say_why) {
  job_document twice = scripted("test \"$3\" = 2 || { echo no luck; exit 1; }");
  std::string const id = submit(twice);
  job_document never = scripted("echo out of luck >&2; exit 7");
  never.attempts = 2;
  std::string const fails = submit(never);
  EXPECT_EQ(worked_off(id).stage, job_stage::done);
  EXPECT_EQ(store_->entry(id).failures, 1U);
  EXPECT_EQ(stage_of(fails), job_stage::failed);
  EXPECT_EQ(store_->entry(fails).attempt, 2U);
  EXPECT_EQ(reason_of(fails), "attempt 2 ended with code 7: out of luck");
}

TEST_F(agents, refuse_what_cannot_run) {
  std::string const ids[] = {submit(scripted("refuse")), submit(scripted("program")),
                             submit(scripted("echo --graph: no such file; exit 2"))};
  for (std::string const& id : ids) EXPECT_EQ(worked_off(id).stage, job_stage::refused);
  EXPECT_EQ(reason_of(ids[0]), "this agent does not run it");
  EXPECT_NE(reason_of(ids[1]).find("/no/such/program cannot be started"), std::string::npos);
  EXPECT_EQ(reason_of(ids[2]), "--graph: no such file");
}

TEST_F(agents, hold_a_job_whose_program_dies_twice) {
  std::string const id = submit(scripted("kill -SEGV $$"));
  EXPECT_EQ(worked_off(id).stage, job_stage::held);
  EXPECT_EQ(store_->entry(id).deaths, 2U);
  EXPECT_NE(reason_of(id).find("attempt 2 died of Segmentation fault"), std::string::npos) << reason_of(id);
}

TEST_F(agents, give_an_attempt_what_the_one_before_saved) {
  std::string const id = submit(scripted(
      "if test -e \"$2/saved\"; then cat \"$2/saved\" > \"$1\"; else echo half > \"$2/saved\"; exit 1; fi", "out"));
  EXPECT_EQ(worked_off(id).stage, job_stage::done);
  EXPECT_EQ(content(folder_.at("out")), "half\n");
}

TEST_F(agents, end_a_job_that_takes_longer_than_its_limit) {
  job_document slow = scripted("exec sleep 60");
  slow.wall = 100ms;
  std::string const id = submit(slow);
  EXPECT_EQ(worked_off(id).stage, job_stage::failed);
  EXPECT_EQ(reason_of(id), "attempt 1 took longer than its limit");
}

TEST_F(agents, end_a_job_that_somebody_cancels) {
  std::string const id = submit(scripted("exec sleep 60", "out"));  // a shell that forks just now may lose the signal
  auto const works = make_agent(*store_);
  work_until(*works, [&] { return stage_of(id) == job_stage::running; });
  job_entry next = store_->entry(id);
  job_entry const before = next;
  next.stage = job_stage::cancelled;
  ASSERT_TRUE(store_->change(before, next, {}, durability::durable));
  work_until(*works, [&] { return works->is_empty(); });
  EXPECT_EQ(stage_of(id), job_stage::cancelled);
  EXPECT_FALSE(std::filesystem::exists(folder_.at("out")));
}

TEST_F(agents, that_are_stopped_give_their_jobs_back_saved) {
  std::string const id = submit(scripted("trap 'echo x > \"$2/saved\"; exit 130' INT; while :; do sleep 0.01; done"));
  auto const works = make_agent(*store_);
  work_until(*works, [&] { return stage_of(id) == job_stage::running; });
  std::this_thread::sleep_for(100ms);  // until the script has its trap
  works->stop(std::chrono::steady_clock::now());
  work_until(*works, [&] { return works->is_empty(); });
  EXPECT_EQ(stage_of(id), job_stage::saved);
  EXPECT_EQ(store_->entry(id).deaths, 0U);
  EXPECT_EQ(reason_of(id), "its agent was stopped");
}

TEST_F(agents, begin_a_job_after_those_it_awaits) {
  std::string const first = submit(scripted("echo a > \"$1\"", "a"));
  job_document second = scripted("cp " + folder_.at("a") + " \"$1\"", "b");
  second.after.jobs = {first};
  second.priority = 100;
  std::string const id = submit(second);
  EXPECT_EQ(worked_off(id).stage, job_stage::done);
  EXPECT_EQ(content(folder_.at("b")), "a\n");
  std::string const fails = submit(scripted("exit 2"));
  job_document never = scripted("true");
  never.after.jobs = {fails};
  std::string const awaits = submit(never);
  EXPECT_EQ(worked_off(awaits).stage, job_stage::refused);
  EXPECT_EQ(reason_of(awaits), "job " + fails + ", which it awaits, is refused");
}

TEST_F(agents, that_die_lose_no_job) {
  std::string const id = submit(scripted("echo $3 >> \"$2/began\"; sleep 0.3; echo done > \"$1\"", "out"));
  pid_t const dies = agent_process(false);
  await_that([&] { return stage_of(id) == job_stage::running; });
  test::kill_child(dies);
  auto const works = make_agent(*store_);
  work_until(*works, [&] { return stage_of(id) == job_stage::done; });
  EXPECT_EQ(store_->entry(id).attempt, 2U);
  EXPECT_EQ(store_->entry(id).deaths, 1U);
  EXPECT_EQ(content(folder_.at("out")), "done\n");
}

TEST_F(agents, that_were_stopped_for_longer_than_their_lease_spoil_nothing) {
  std::string const id = submit(scripted("sleep 0.2; echo $3 > \"$1\"", "out"));
  pid_t const stopped = agent_process();
  await_that([&] { return stage_of(id) == job_stage::running; });
  ::kill(stopped, SIGSTOP);
  auto const works = make_agent(*store_);
  work_until(*works, [&] { return store_->entry(id).in_place; });
  EXPECT_EQ(content(folder_.at("out")), "2\n");
  ::kill(stopped, SIGCONT);
  EXPECT_EQ(test::status_of(stopped), 0);
  EXPECT_EQ(content(folder_.at("out")), "2\n") << "the attempt that the store knows";
  EXPECT_EQ(store_->entry(id).attempt, 2U);
}

TEST_F(agents, put_in_place_what_another_had_no_time_for) {
  std::string const id = submit(scripted("true", "out"));
  job_entry const queued = store_->entry(id);
  job_entry done = queued;
  done.stage = job_stage::done;
  done.agent = "000000000000";  // which is not there
  folder_.write("out.attempt-1", "result");
  ASSERT_TRUE(store_->change(queued, done, {.results = {{folder_.at("out.attempt-1"), folder_.at("out")}}},
                             durability::durable));
  auto const works = make_agent(*store_);
  work_until(*works, [&] { return store_->entry(id).in_place; });
  EXPECT_EQ(content(folder_.at("out")), "result");
}

/// A store of which a part of all calls fail: before they have done anything, or after they have done it.
class faulty_store final : public job_store {
 public:
  explicit faulty_store(job_store& of) : of_(of) {}
  std::vector<std::string> submit(std::span<job_document const> jobs) override {
    return faulty([&] { return of_.submit(jobs); });
  }
  std::vector<job_entry> list() override {
    return faulty([&] { return of_.list(); });
  }
  job_entry entry(std::string const& id) override {
    return faulty([&] { return of_.entry(id); });
  }
  job_document document(std::string const& id) override {
    return faulty([&] { return of_.document(id); });
  }
  std::optional<job_entry> change(job_entry const& from, job_entry to, job_event what, durability how) override {
    return faulty([&] { return of_.change(from, std::move(to), std::move(what), how); });
  }
  std::vector<job_event> events(std::string const& id) override {
    return faulty([&] { return of_.events(id); });
  }
  void beat(agent_record const& agent) override {
    faulty([&] {
      of_.beat(agent);
      return 0;
    });
  }
  std::vector<agent_record> agents() override {
    return faulty([&] { return of_.agents(); });
  }
  void forget_agent(std::string const& id) override { of_.forget_agent(id); }
  std::chrono::nanoseconds lease() const override { return of_.lease(); }
  std::filesystem::path folder(std::string const& id) override {
    return faulty([&] { return of_.folder(id); });
  }
  int faults() const { return faults_; }

 private:
  template <class Call>
  std::invoke_result_t<Call> faulty(Call call) {
    maybe_fail();
    auto found = call();
    maybe_fail();
    return found;
  }
  void maybe_fail() {
    if (random_() % 8 != 0) return;
    ++faults_;
    throw device_error{5, "a fault", "test", "faulty_store"};
  }

  job_store& of_;
  std::mt19937 random_{20'261'130};
  int faults_ = 0;
};

TEST_F(agents, of_a_store_that_fails_now_and_then_do_each_job_and_show_each_result_once) {
  constexpr int jobs = 30;
  for (int i = 0; i < jobs; ++i) {
    job_document one = scripted("echo " + std::to_string(i) + " > \"$1\"", "out-" + std::to_string(i));
    one.attempts = 100;
    submit(one);
  }
  faulty_store faulty{*store_};
  auto const works = make_agent(faulty, 3);
  work_until(*works, [&] { return works->is_idle(); });
  EXPECT_GT(faulty.faults(), jobs);
  for (job_entry const& each : store_->list()) EXPECT_TRUE(each.in_place) << name_of(each.stage) << reason_of(each.id);
  for (int i = 0; i < jobs; ++i) EXPECT_EQ(content(folder_.at("out-" + std::to_string(i))), std::to_string(i) + "\n");
  for (auto const& each : std::filesystem::directory_iterator{folder_.path()})
    EXPECT_EQ(each.path().string().find("attempt"), std::string::npos) << each.path();
}

TEST_F(agents, refuse_a_job_whose_document_is_not_there) {
  std::string const id = submit(scripted("true"));
  std::filesystem::remove_all(at_ + "/documents/" + id.substr(19));
  EXPECT_EQ(worked_off(id).stage, job_stage::refused);
  EXPECT_EQ(reason_of(id), "there is no job " + id);
}

/// Each job adds a line to a file of its own, once for each attempt that ended as the store knows it.
TEST_F(agents, of_which_many_die_do_every_job_and_show_each_result_once) {
  constexpr int jobs = 60;
  std::vector<std::string> ids;
  for (int i = 0; i < jobs; ++i)
    ids.push_back(submit(scripted("sleep 0.0" + std::to_string(i % 9) + "; echo " + std::to_string(i) + " > \"$1\"",
                                  "out-" + std::to_string(i))));
  std::mt19937 random{20'261'130};
  std::vector<pid_t> works;
  for (int i = 0; i < 4; ++i) works.push_back(agent_process(false));
  for (std::uint64_t i = 0; i < trials(40); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{random() % 60});
    pid_t& one = works[random() % works.size()];
    test::kill_child(one);
    one = agent_process(false);
  }
  auto const release_held = [&] {
    for (job_entry const& each : store_->list()) {
      job_entry next = each;
      next.stage = job_stage::queued;
      next.deaths = 0;
      if (each.stage == job_stage::held) store_->change(each, next, {.reason = "released"}, durability::durable);
    }
  };
  await_that([&] {
    std::this_thread::sleep_for(20ms);
    release_held();
    auto const all = store_->list();
    return std::all_of(all.begin(), all.end(), [](job_entry const& each) { return each.in_place; });
  });
  for (pid_t const each : works) test::kill_child(each);
  for (int i = 0; i < jobs; ++i) {
    EXPECT_EQ(content(folder_.at("out-" + std::to_string(i))), std::to_string(i) + "\n");
    EXPECT_EQ(stage_of(ids[static_cast<std::size_t>(i)]), job_stage::done);
  }
}

}  // namespace
}  // namespace lull::queue
