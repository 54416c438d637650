// SPDX-License-Identifier: Apache-2.0
// What becomes of jobs when agents die or are stopped, and when a store fails.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/tests/host/queue/agents.hpp>
#include <lull/tests/support/effort.hpp>
#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull::queue {
namespace {

TEST_F(agents, that_die_lose_no_job) {
  std::string const id = submit(scripted("echo $3 >> \"$2/began\"; sleep 0.3; echo done > \"$1\"", "out"));
  pid_t const dies = agent_process(false);
  await_that([&] { return state_of(id) == entry_state::running; });
  test::kill_child(dies);
  auto const works = make_agent(*store_);
  work_until(*works, [&] { return state_of(id) == entry_state::done; });
  EXPECT_EQ(store_->entry(id).attempt, 2U);
  EXPECT_EQ(store_->entry(id).deaths, 1U);
  EXPECT_EQ(content(folder_.at("out")), "done\n");
}

TEST_F(agents, that_were_stopped_for_longer_than_their_lease_spoil_nothing) {
  std::string const id = submit(scripted("sleep 0.2; echo $3 > \"$1\"", "out"));
  pid_t const stopped = agent_process();
  await_that([&] { return state_of(id) == entry_state::running; });
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
  done.state = entry_state::done;
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
    if (to.state == entry_state::done && before_done_) std::exchange(before_done_, nullptr)();
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
  std::optional<drain_order> drained() override {
    return faulty([&] { return of_.drained(); });
  }
  void set_drained(std::optional<drain_order> const& order) override { of_.set_drained(order); }
  bool remove(job_entry const& from) override { return of_.remove(from); }
  void forget_agent(std::string const& id) override { of_.forget_agent(id); }
  std::chrono::nanoseconds lease() const override { return of_.lease(); }
  std::filesystem::path folder(std::string const& id) override {
    return faulty([&] { return of_.folder(id); });
  }
  int faults() const { return faults_; }
  /// Called once before a job is done, and no call fails.
  void before_done(std::function<void()> call) {
    before_done_ = std::move(call);
    fail(false);
  }
  /// From now on every call fails, or none does.
  void fail(bool always) { fails_ = always; }

 private:
  template <class Call>
  std::invoke_result_t<Call> faulty(Call call) {
    maybe_fail();
    auto found = call();
    maybe_fail();
    return found;
  }
  void maybe_fail() {
    if (fails_ ? !*fails_ : random_() % 8 != 0) return;
    ++faults_;
    throw device_error{5, "a fault", "test", "faulty_store"};
  }

  job_store& of_;
  std::function<void()> before_done_{};
  std::mt19937 random_{20'261'130};
  std::optional<bool> fails_{};  // none: now and then
  int faults_ = 0;
};

TEST_F(agents, whose_store_is_gone_for_their_lease_save_their_jobs_and_go_on_later) {
  std::string const begun = folder_.at("begun");
  std::string const saved = folder_.at("saved");
  std::string const id =
      submit(scripted("if test -e \"$2/half\"; then cat \"$2/half\" > \"$1\"; exit; fi;"
                      "trap 'echo half > \"$2/half\"; touch " +
                          saved + "; exit 130' INT; touch " + begun + "; while :; do sleep 0.01; done",
                      "out"));
  faulty_store gone{*store_};
  gone.fail(false);
  auto const works = make_agent(gone);
  work_until(*works, [&] { return state_of(id) == entry_state::running && std::filesystem::exists(begun); });
  gone.fail(true);
  work_until(*works, [&] { return std::filesystem::exists(saved); });
  EXPECT_EQ(state_of(id), entry_state::running) << "the store has not heard of it";
  gone.fail(false);
  work_until(*works, [&] { return store_->entry(id).in_place; });
  EXPECT_EQ(content(folder_.at("out")), "half\n");
  EXPECT_EQ(store_->entry(id).failures + store_->entry(id).deaths, 0U);
  EXPECT_EQ(reason_of(id), "its agent could not reach the queue for its lease");
}

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
  for (job_entry const& each : store_->list()) EXPECT_TRUE(each.in_place) << name_of(each.state) << reason_of(each.id);
  for (int i = 0; i < jobs; ++i) EXPECT_EQ(content(folder_.at("out-" + std::to_string(i))), std::to_string(i) + "\n");
  EXPECT_EQ(files_of_attempts(), 0);
}

TEST_F(agents, say_a_job_is_in_place_only_when_it_is) {
  std::string const begun = folder_.at("begun");
  std::string const id = submit(scripted("echo x > \"$1\"; touch " + begun, "out"));
  faulty_store slow{*store_};
  auto const works = make_agent(slow);
  slow.before_done([&] {  // between the end of the program and the renaming of its result
    std::filesystem::create_directory(folder_.at("out"));
    folder_.write("out/full", "a file cannot replace this");
  });
  work_until(*works, [&] { return state_of(id) == entry_state::done; });
  for (int i = 0; i < 50; ++i) works->tick(std::chrono::steady_clock::now() + i * 10ms);
  EXPECT_FALSE(store_->entry(id).in_place);
  std::filesystem::remove_all(folder_.at("out"));
  work_until(*works, [&] { return store_->entry(id).in_place; });
  EXPECT_EQ(content(folder_.at("out")), "x\n");
}

TEST_F(agents, that_are_stopped_end_although_the_store_is_gone) {
  submit(scripted("trap '' INT; while :; do sleep 0.01; done"));
  auto const works = make_agent(*store_);
  work_until(*works, [&] { return !works->is_empty(); });
  std::filesystem::remove_all(at_);
  auto now = std::chrono::steady_clock::now();
  works->stop(now);
  EXPECT_FALSE(works->has_stopped(now));
  now += agent::stops_within + 2 * lease;
  works->tick(now);
  EXPECT_TRUE(works->has_stopped(now));
}

TEST_F(agents, take_over_from_the_dead_however_long_the_queue_is) {
  std::vector<job_document> many(1'000, scripted("true"));
  store_->submit(many);
  for (job_entry const& each : store_->list()) {
    job_entry next = each;
    next.state = entry_state::cancelled;
    store_->change(each, next, {}, durability::may_be_lost);
  }
  std::string const id = submit(scripted("true"));
  job_entry const queued = store_->entry(id);
  job_entry next = queued;
  next.state = entry_state::running;
  next.agent = "000000000000";
  store_->change(queued, next, {}, durability::may_be_lost);
  agent works{*store_, prepare, say_nothing, {}};  // lists as seldom as it does by itself
  work_until(works, [&] { return state_of(id) == entry_state::done; });
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
      next.state = entry_state::queued;
      next.deaths = 0;
      if (each.state == entry_state::held) store_->change(each, next, {.reason = "released"}, durability::durable);
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
    EXPECT_EQ(state_of(ids[static_cast<std::size_t>(i)]), entry_state::done);
  }
}

}  // namespace
}  // namespace lull::queue
