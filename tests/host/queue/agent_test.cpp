// SPDX-License-Identifier: Apache-2.0
// What agents make of jobs whose programs end in any way.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/queue/attempt_record.hpp>
#include <lull/tests/host/queue/agents.hpp>
#include <lull/tests/support/test_folder.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull::queue {
namespace {

TEST(attempt, has_names_of_its_own_for_results) {
  attempt const second{.id = "ID", .number = 2};
  EXPECT_EQ(second.result("/data/ranks.csv"), "/data/ranks.attempt-2-ID.csv");
  EXPECT_EQ(second.result("ranks"), "ranks.attempt-2-ID");
  EXPECT_EQ(second.result("a.b/c.tar.gz"), "a.b/c.tar.attempt-2-ID.gz");
  attempt const third{.id = "ID", .number = 3};
  EXPECT_NE(third.result("ranks"), second.result("ranks"));
}

TEST_F(agents, run_a_job_and_put_its_result_in_place) {
  std::string const id = submit(scripted("echo 42 > \"$1\"", "out.csv"));
  job_entry const ended = worked_off(id);
  EXPECT_EQ(ended.state, entry_state::done);
  EXPECT_TRUE(ended.in_place);
  EXPECT_EQ(ended.attempt, 1U);
  EXPECT_EQ(content(folder_.at("out.csv")), "42\n");
  EXPECT_EQ(files_of_attempts(), 0);
  EXPECT_TRUE(store_->agents().empty()) << "it has left";
}

TEST_F(agents, try_again_what_fails_and_say_why) {
  job_document twice = scripted("test \"$3\" = 2 || { echo no luck; exit 1; }");
  std::string const id = submit(twice);
  job_document never = scripted("echo out of luck >&2; exit 7");
  never.attempts = 2;
  std::string const fails = submit(never);
  EXPECT_EQ(worked_off(id).state, entry_state::done);
  EXPECT_EQ(store_->entry(id).failures, 1U);
  EXPECT_EQ(state_of(fails), entry_state::failed);
  EXPECT_EQ(store_->entry(fails).attempt, 2U);
  EXPECT_EQ(reason_of(fails), "attempt 2 ended with code 7: out of luck");
}

TEST_F(agents, refuse_what_cannot_run) {
  std::string const ids[] = {submit(scripted("refuse")), submit(scripted("program")),
                             submit(scripted("echo --graph: no such file; exit 2"))};
  for (std::string const& id : ids) EXPECT_EQ(worked_off(id).state, entry_state::refused);
  EXPECT_EQ(reason_of(ids[0]), "this agent does not run it");
  EXPECT_NE(reason_of(ids[1]).find("/no/such/program cannot be started"), std::string::npos);
  EXPECT_EQ(reason_of(ids[2]), "--graph: no such file");
}

TEST_F(agents, hold_a_job_whose_program_dies_twice) {
  std::string const id = submit(scripted("kill -SEGV $$"));
  EXPECT_EQ(worked_off(id).state, entry_state::held);
  EXPECT_EQ(store_->entry(id).deaths, 2U);
  EXPECT_NE(reason_of(id).find("attempt 2 died of Segmentation fault"), std::string::npos) << reason_of(id);
}

TEST_F(agents, give_an_attempt_what_the_one_before_saved) {
  std::string const id = submit(scripted(
      "if test -e \"$2/saved\"; then cat \"$2/saved\" > \"$1\"; else echo half > \"$2/saved\"; exit 1; fi", "out"));
  EXPECT_EQ(worked_off(id).state, entry_state::done);
  EXPECT_EQ(content(folder_.at("out")), "half\n");
}

TEST_F(agents, end_a_job_that_takes_longer_than_its_limit) {
  job_document slow = scripted("exec sleep 60");
  slow.wall = 100ms;
  std::string const id = submit(slow);
  EXPECT_EQ(worked_off(id).state, entry_state::failed);
  EXPECT_EQ(reason_of(id), "attempt 1 took longer than its limit");
}

TEST_F(agents, end_a_job_that_somebody_cancels) {
  std::string const id = submit(scripted("exec sleep 60", "out"));  // a shell that forks just now may lose the signal
  auto const works = make_agent(*store_);
  work_until(*works, [&] { return state_of(id) == entry_state::running; });
  job_entry next = store_->entry(id);
  job_entry const before = next;
  next.state = entry_state::cancelled;
  ASSERT_TRUE(store_->change(before, next, {}, durability::durable));
  work_until(*works, [&] { return works->is_empty(); });
  EXPECT_EQ(state_of(id), entry_state::cancelled);
  EXPECT_FALSE(std::filesystem::exists(folder_.at("out")));
}

TEST_F(agents, that_are_stopped_give_their_jobs_back_saved) {
  std::string const id = submit(scripted("trap 'echo x > \"$2/saved\"; exit 130' INT; while :; do sleep 0.01; done"));
  auto const works = make_agent(*store_);
  work_until(*works, [&] { return state_of(id) == entry_state::running; });
  std::this_thread::sleep_for(100ms);  // until the script has its trap
  works->stop(std::chrono::steady_clock::now());
  work_until(*works, [&] { return works->is_empty(); });
  EXPECT_EQ(state_of(id), entry_state::saved);
  EXPECT_EQ(store_->entry(id).deaths, 0U);
  EXPECT_EQ(reason_of(id), "its agent was stopped");
}

TEST_F(agents, begin_a_job_after_those_it_awaits) {
  std::string const first = submit(scripted("echo a > \"$1\"", "a"));
  job_document second = scripted("cp " + folder_.at("a") + " \"$1\"", "b");
  second.after.jobs = {first};
  second.priority = 100;
  std::string const id = submit(second);
  EXPECT_EQ(worked_off(id).state, entry_state::done);
  EXPECT_EQ(content(folder_.at("b")), "a\n");
  std::string const fails = submit(scripted("exit 2"));
  job_document never = scripted("true");
  never.after.jobs = {fails};
  std::string const awaits = submit(never);
  EXPECT_EQ(worked_off(awaits).state, entry_state::refused);
  EXPECT_EQ(reason_of(awaits), "job " + fails + ", which it awaits, is refused");
}

TEST_F(agents, refuse_a_job_whose_document_is_not_there) {
  std::string const id = submit(scripted("true"));
  std::filesystem::remove_all(at_ + "/documents/" + id.substr(19));
  EXPECT_EQ(worked_off(id).state, entry_state::refused);
  EXPECT_EQ(reason_of(id), "there is no job " + id);
}

TEST_F(agents, replace_a_folder_that_is_there) {
  std::filesystem::create_directory(folder_.at("out"));
  folder_.write("out/old", "old");
  std::string const id = submit(scripted("mkdir \"$1\"; echo new > \"$1/new\"", "out"));
  EXPECT_TRUE(worked_off(id).in_place);
  EXPECT_EQ(content(folder_.at("out/new")), "new\n");
  EXPECT_FALSE(std::filesystem::exists(folder_.at("out/old")));
  EXPECT_EQ(files_of_attempts(), 0);
}

TEST_F(agents, let_two_jobs_with_one_result_each_write_it) {
  std::string const first = submit(scripted("test $3 = 2 || exit 1; echo A > \"$1\"", "out"));
  std::string const second = submit(scripted("echo B > \"$1\"; sleep 0.5", "out"));
  auto const works = make_agent(*store_, 2);
  work_until(*works, [&] { return works->is_idle(); });
  EXPECT_TRUE(store_->entry(first).in_place);
  EXPECT_TRUE(store_->entry(second).in_place);
  EXPECT_EQ(content(folder_.at("out")), "B\n") << "the last that ended";
}

TEST_F(agents, end_what_a_job_has_left_running) {
  std::string const id = submit(scripted("sleep 600 & echo $! > \"$1\"", "out"));
  EXPECT_EQ(worked_off(id).state, entry_state::done);
  pid_t const left = std::stoi(content(folder_.at("out")));
  EXPECT_TRUE(within_time([&] { return ::kill(left, 0) != 0; }));
}

TEST_F(agents, leave_to_others_what_they_do_not_take_and_wait_until_the_machine_is_free) {
  std::string const id = submit(scripted("true"));
  agent::options asked{.list_every = 5ms};
  asked.takes = [](job_document const&, job_entry const&) { return false; };
  agent takes_none{*store_, prepare, say_nothing, asked};
  work_until(takes_none, [&] { return takes_none.is_idle(); });
  EXPECT_EQ(state_of(id), entry_state::queued);
  bool is_free = false;
  asked.takes = {};
  asked.is_free = [&] { return is_free; };
  agent waits_first{*store_, prepare, say_nothing, asked};
  for (int i = 0; i < 20; ++i) {
    waits_first.tick(std::chrono::steady_clock::now());
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_FALSE(waits_first.is_idle());
  EXPECT_EQ(state_of(id), entry_state::queued);
  is_free = true;
  work_until(waits_first, [&] { return waits_first.is_idle(); });
  EXPECT_EQ(state_of(id), entry_state::done);
}

TEST_F(agents, stop_what_they_try_first_when_its_time_is_over) {
  std::string const id = submit(
      scripted("test $3 -gt 1 && exit; trap 'echo here > \"$2/half\"; exit 130' INT; while :; do sleep 0.01; done"));
  auto const tried = [](job_document const& job, attempt const& at) {
    prepared_job made = prepare(job, at);
    made.tries_for = 100ms;
    return made;
  };
  agent works{*store_, tried, say_nothing, agent::options{.list_every = 5ms}};
  work_until(works, [&] { return state_of(id) == entry_state::done; });
  EXPECT_EQ(store_->entry(id).attempt, 2U);
  EXPECT_EQ(store_->entry(id).failures, 0U);
  EXPECT_EQ(content(store_->folder(id) / "checkpoint-2" / "half"), "here\n");
}

TEST_F(agents, hold_foreign_code_that_ended_with_the_trainer_beside_it) {
  std::string const gone = folder_.at("gone");
  for (bool const is_foreign : {true, false}) {
    std::filesystem::remove(gone);
    std::string const id = submit(scripted("test $3 -gt 1 || { touch " + gone + "; exit 1; }"));
    auto const in_trainer = [&](job_document const& job, attempt const& at) {
      prepared_job made = prepare(job, at);
      made.is_foreign = is_foreign;
      return made;
    };
    auto const listens = [&] { return !std::filesystem::exists(gone); };
    agent works{*store_, in_trainer, say_nothing, agent::options{.is_free = listens, .list_every = 5ms}};
    work_until(works, [&] { return state_of(id) == (is_foreign ? entry_state::held : entry_state::saved); });
    EXPECT_EQ(reason_of(id).find("the trainer beside it was gone when attempt 1 ended with code 1") == 0, is_foreign);
  }
}

/// As a scheduler does that ends a whole node's processes.
TEST_F(agents, count_no_failure_of_a_program_that_others_asked_to_stop) {
  expect_done_without_failures("test $3 -gt 3 || exit 130", 4);
}

TEST_F(agents, fail_an_attempt_that_did_not_write_its_result) {
  folder_.write("old", "of another");
  std::string const missing = submit(scripted("true", "old"));
  std::filesystem::create_directory(folder_.at("folder"));
  std::string const other_kind = submit(scripted("echo x > \"$1\"", "folder"));
  auto const works = make_agent(*store_);
  work_until(*works, [&] { return works->is_idle(); });
  EXPECT_EQ(state_of(missing), entry_state::failed);
  EXPECT_EQ(reason_of(missing), "its result " + folder_.at("old") + " was not written");
  EXPECT_EQ(content(folder_.at("old")), "of another");
  EXPECT_EQ(state_of(other_kind), entry_state::failed);
  EXPECT_NE(reason_of(other_kind).find(" is a file, and what is there is not"), std::string::npos);
}

TEST_F(agents, begin_other_jobs_while_one_cannot_be_begun) {
  std::string const first = submit(scripted("first"));
  std::string const second = submit(scripted("second"));
  auto const prepare_second = [&](job_document const& job, attempt const& at) {
    if (job.run.command.front() == "first") throw device_error{ENOSPC, "no space left", "test", "prepare"};
    return prepare(scripted("true"), at);
  };
  agent works{*store_, prepare_second, say_nothing, agent::options{.list_every = 5ms}};
  work_until(works, [&] { return state_of(second) == entry_state::done; });
  EXPECT_EQ(state_of(first), entry_state::saved);
}

TEST_F(agents, do_not_count_the_time_that_a_job_takes_to_save_itself) {
  job_document one = scripted("trap 'sleep 0.6; exit 130' INT; touch \"$2/begun\"; while :; do sleep 0.01; done");
  one.wall = 500ms;
  std::string const id = submit(one);
  auto const works = make_agent(*store_);
  work_until(*works, [&] { return std::filesystem::exists(store_->folder(id) / "checkpoint-1" / "begun"); });
  works->stop(std::chrono::steady_clock::now());
  work_until(*works, [&] { return works->is_empty(); });
  EXPECT_EQ(state_of(id), entry_state::saved) << reason_of(id);
}

TEST(put_in_place, of_one_that_another_agent_has_put_there_meanwhile_leaves_it) {
  test::test_folder const folder;
  std::filesystem::create_directory(folder.at("result"));
  folder.write("result/file", "good");
  EXPECT_EQ(put_in_place(folder.at("gone"), folder.at("result")), "");
  EXPECT_EQ(content(folder.at("result/file")), "good");
}

TEST(bound_log, reads_no_more_than_it_keeps) {
  test::test_folder const folder;
  folder.write("log", std::string(100'000, 'a') + "the end\n");
  bound_log(folder.at("log"), 1'000);
  EXPECT_LE(std::filesystem::file_size(folder.at("log")), 1'000U);
  EXPECT_EQ(last_line(folder.at("log")), std::string(300, 'a'));
}

TEST(has_run, is_not_said_of_what_was_given_back) {
  auto const line = [](entry_state state, std::string const& reason = "") {
    return job_event{.state = state, .reason = reason};
  };
  std::vector<job_event> history{line(entry_state::queued), line(entry_state::claimed)};
  EXPECT_FALSE(has_run(history));
  history.push_back(line(entry_state::running));
  EXPECT_TRUE(has_run(history));
  history.push_back(line(entry_state::saved, given_back_reason("LULL=observe")));
  EXPECT_FALSE(has_run(history));
  history.push_back(line(entry_state::running));
  history.push_back(line(entry_state::saved, "its agent was stopped"));
  EXPECT_TRUE(has_run(history));
}

TEST_F(agents, give_back_what_cannot_run_here_and_now_and_count_no_failure) {
  expect_done_without_failures("test $3 -gt 3 || exit 3", 4);
}

TEST_F(agents, bound_what_a_job_prints_and_keep_its_end) {
  std::string const id = submit(scripted("yes | head -c 3000000; echo; echo the end; exit 2"));
  agent works{*store_, prepare, say_nothing, {.list_every = 5ms, .max_log_bytes = 1 << 16}};
  work_until(works, [&] { return state_of(id) == entry_state::refused; });
  EXPECT_EQ(reason_of(id), "the end");
  auto const log = store_->folder(id) / "log-1";
  EXPECT_LE(std::filesystem::file_size(log), 1U << 16);
  EXPECT_EQ(content(log).rfind("[what came before is left out", 0), 0U) << content(log).substr(0, 100);
}

TEST_F(agents, give_the_next_attempt_the_folders_of_its_checkpoint) {
  std::string const id =
      submit(scripted("cd \"$2\"; if test -e a/b/c; then cat a/b/c > \"$1\"; else mkdir -p a/b .x; echo c > a/b/c; "
                      "echo > .x/y; exit 1; fi",
                      "out"));
  EXPECT_EQ(worked_off(id).state, entry_state::done);
  EXPECT_EQ(content(folder_.at("out")), "c\n");
  EXPECT_FALSE(std::filesystem::exists(store_->folder(id) / "checkpoint-2" / ".x"));
}

TEST(attempt, has_the_files_of_the_last_one_and_removes_those_of_the_one_before) {
  test::test_folder const folder;
  std::filesystem::path const at = folder.path();
  std::ofstream{attempt_in(at, "ID", 1).checkpoint / "saved"} << "1";
  attempt const second = attempt_in(at, "ID", 2);
  attempt const third = attempt_in(at, "ID", 3);
  EXPECT_TRUE(std::filesystem::equivalent(second.checkpoint / "saved", third.checkpoint / "saved"));
  EXPECT_EQ(content(third.checkpoint / "saved"), "1");
  EXPECT_FALSE(std::filesystem::exists(at / "checkpoint-1"));
}

/// Each of these ticks lists the jobs and tries this one: one that goes on later is work that is left.
TEST_F(agents, are_not_idle_while_this_machine_cannot_begin_a_job) {
  std::string const id = submit(scripted("true"));
  bool is_full = true;
  auto const prepare_if_room = [&](job_document const& job, attempt const& at) {
    if (is_full) throw device_error{ENOSPC, "no space left", "test", "prepare"};
    return prepare(job, at);
  };
  agent works{*store_, prepare_if_room, say_nothing, agent::options{.list_every = 5ms}};
  auto now = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) {
    works.tick(now += 100ms);
    EXPECT_FALSE(works.is_idle()) << "after " << i;
  }
  EXPECT_EQ(state_of(id), entry_state::saved);
  is_full = false;
  await_that([&] {
    works.tick(now += 100ms);
    return works.is_idle();
  });
  EXPECT_EQ(state_of(id), entry_state::done);
}

}  // namespace
}  // namespace lull::queue
