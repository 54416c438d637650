// SPDX-License-Identifier: Apache-2.0
// A spool's folder that goes away while an agent works, comes back, or is another one then; and a disk that is full.
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/tests/host/queue/agents.hpp>
#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/message_of.hpp>

namespace lull::queue {
namespace {

/// An agent whose time is the test's, so that a busy machine takes no lease from it.
class spools_that_vanish : public agents {
 protected:
  spools_that_vanish() {
    works_ = std::make_unique<agent>(
        *store_, prepare, [this](std::string const& line, std::string const&) { said_ += line + "\n"; },
        agent::options{.list_every = 5ms});
  }
  /// Has the agent work until that is so, with little of its time going by.
  template <class So>
  void work_until(So so) {
    await_that([&] {
      tick(1ms);
      std::this_thread::sleep_for(1ms);
      return so();
    });
  }
  void tick(std::chrono::nanoseconds after) {
    now_ += after;
    agent::time_point const next = works_->tick(now_);
    min_rest_ = std::min<std::chrono::nanoseconds>(min_rest_, next - now_);
  }
  bool has_said(std::string const& text) const { return said_.find(text) != std::string::npos; }
  /// A job whose program writes its number, and ends when the test says so.
  std::string submit_that_waits() {
    return submit(scripted("echo $$ > " + folder_.at("process") + ".new; mv " + folder_.at("process") + ".new " +
                               folder_.at("process") + "; until test -e " + folder_.at("go") +
                               "; do sleep 0.01; done; echo result > \"$1\"",
                           "out"));
  }
  void await_program() {
    work_until([&] { return std::filesystem::exists(folder_.at("process")); });
  }
  bool program_runs() const {
    siginfo_t about{};
    auto const process = static_cast<id_t>(std::stoi(content(folder_.at("process"))));
    return ::waitid(P_PID, process, &about, WEXITED | WNOHANG | WNOWAIT) == 0 && about.si_pid == 0;
  }
  void move_away() const { std::filesystem::rename(at_, folder_.at("elsewhere")); }

  std::string said_;
  std::unique_ptr<agent> works_;
  agent::time_point now_ = std::chrono::steady_clock::now();
  std::chrono::nanoseconds min_rest_ = 1h;
};

TEST_F(spools_that_vanish, and_come_back_find_the_job_at_work) {
  std::string const id = submit_that_waits();
  await_program();
  move_away();
  tick(lease / 4);
  EXPECT_TRUE(has_said("the queue cannot be used now")) << said_;
  EXPECT_TRUE(has_said(at_)) << said_;
  EXPECT_TRUE(program_runs());
  min_rest_ = 1h;
  for (int i = 0; i < 20; ++i) tick(1ms);
  EXPECT_GE(min_rest_, 1ms) << "it looks again all the time";
  EXPECT_TRUE(program_runs());
  std::filesystem::rename(folder_.at("elsewhere"), at_);
  folder_.write("go", "");
  work_until([&] { return store_->entry(id).in_place; });
  EXPECT_TRUE(has_said("the queue can be used again")) << said_;
  EXPECT_EQ(store_->entry(id).attempt, 1U);
  EXPECT_EQ(content(folder_.at("out")), "result\n");
}

TEST_F(spools_that_vanish, for_longer_than_a_lease_have_the_job_saved_and_done_later) {
  std::string const id = submit_that_waits();
  await_program();
  move_away();
  for (int i = 0; i < 8; ++i) tick(lease / 4);
  await_that([&] { return !program_runs(); });
  for (int i = 0; i < 8; ++i) tick(lease / 4);  // it ends no job that it cannot tell of
  std::filesystem::rename(folder_.at("elsewhere"), at_);
  folder_.write("go", "");
  work_until([&] { return store_->entry(id).in_place; });
  EXPECT_EQ(store_->entry(id).attempt, 2U);
  EXPECT_EQ(store_->entry(id).failures + store_->entry(id).deaths, 0U);
  EXPECT_EQ(content(folder_.at("out")), "result\n");
}

TEST_F(spools_that_vanish, for_good_are_left_for_the_one_that_is_made_in_their_place) {
  submit_that_waits();
  await_program();
  std::filesystem::remove_all(at_);
  tick(lease / 4);
  EXPECT_TRUE(has_said("the queue cannot be used now")) << said_;
  min_rest_ = 1h;
  for (int i = 0; i < 20; ++i) tick(1ms);
  EXPECT_GE(min_rest_, 1ms) << "it looks again all the time";
  EXPECT_TRUE(program_runs());
  spool::make(at_, lease);
  spool made{at_};
  job_document const next = scripted("echo next > \"$1\"", "next");
  std::string const id = made.submit({&next, 1}).front();
  folder_.write("go", "");
  work_until([&] { return made.entry(id).in_place; });
  EXPECT_EQ(content(folder_.at("next")), "next\n");
  EXPECT_EQ(made.agents().size(), 1U);
}

TEST_F(spools_that_vanish, for_another_one_have_no_agent_any_longer) {
  tick(1ms);
  move_away();
  spool::make(at_, lease);
  tick(lease / 4);
  tick(lease / 4);
  ASSERT_EQ(spool{at_}.agents().size(), 1U);
  EXPECT_EQ(spool{folder_.at("elsewhere")}.agents().front().beats, 1U);
}

/// In a child, which has a file system of its own to fill. Its failures are on its output.
int in_small_file_system(std::filesystem::path const& at, void (*work)(std::filesystem::path const&)) {
  constexpr int not_allowed = 77;
  pid_t const child = ::fork();
  if (child != 0) return WEXITSTATUS(test::status_of(child));
  bool const is_there = ::unshare(CLONE_NEWNS) == 0 &&
                        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                        ::mount("none", at.c_str(), "tmpfs", 0, "size=256k,mode=700") == 0;
  if (!is_there) ::_exit(not_allowed);
  work(at);
  ::_exit(testing::Test::HasFailure() ? 1 : 0);
}

void fill_and_go_on(std::filesystem::path const& at) {
  std::ofstream{at / "ballast"} << std::string(32'768, 'x');
  std::string const store = at / "spool";
  spool::make(store);
  spool full{store};
  std::vector<std::string> acknowledged;
  std::string why;
  job_document const one = job_named("one");
  while (why.empty() && acknowledged.size() < 1'000) {
    why = message_of<device_error>([&] { acknowledged.push_back(full.submit({&one, 1}).front()); });
  }
  EXPECT_GE(acknowledged.size(), 5U);
  EXPECT_NE(why.find(store), std::string::npos) << why;
  EXPECT_NE(why.find(std::strerror(ENOSPC)), std::string::npos) << why;
  auto const files = [&](char const* kind) {
    std::size_t count = 0;
    for (auto const& each : std::filesystem::recursive_directory_iterator{at / "spool" / kind})
      if (!each.is_directory()) ++count;
    return count;
  };
  auto const expect_all = [&] {
    spool again{store};
    EXPECT_EQ(files("documents"), acknowledged.size()) << "a half of one is left";
    EXPECT_EQ(again.list().size(), acknowledged.size());
    for (std::string const& id : acknowledged) EXPECT_EQ(again.document(id).name, "one");
    EXPECT_EQ(again.problems(), std::vector<std::string>{});
  };
  expect_all();
  EXPECT_THROW(full.submit(std::vector<job_document>(3, one)), device_error);
  job_entry const before = full.entry(acknowledged.front());
  job_entry next = before;
  next.state = entry_state::cancelled;
  EXPECT_THROW(full.change(before, next, {}, durability::durable), device_error);
  EXPECT_EQ(full.entry(before.id), before);
  EXPECT_EQ(files("events"), 0U) << "a half of one is left";
  expect_all();
  std::filesystem::remove(at / "ballast");
  EXPECT_TRUE(full.change(before, next, {}, durability::durable));
  acknowledged.push_back(full.submit({&one, 1}).front());
  expect_all();
}

TEST(spools_on_full_disks, say_so_and_go_on_when_there_is_room) {
  test::test_folder const folder;
  int const status = in_small_file_system(folder.path(), fill_and_go_on);
  if (status == 77) GTEST_SKIP() << "this user may not mount";
  EXPECT_EQ(status, 0) << "see above";
}

}  // namespace
}  // namespace lull::queue
