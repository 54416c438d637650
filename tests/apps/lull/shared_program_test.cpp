// SPDX-License-Identifier: Apache-2.0
// Two programs: `lull harvest --share` replays a trainer, and `lull work --attach` works in its bubbles.
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/tests/apps/lull/program.hpp>
#include <lull/tests/support/effort.hpp>
#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/killed_program.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

class shared_bubbles : public program {
 protected:
  std::string address() const { return "unix:" + file("socket"); }
  /// Replays for longer than any test; the caller kills it.
  pid_t trainer() const {
    std::string const at = address();
    pid_t const child = ::fork();
    if (child != 0) return child;
    if (freopen("/dev/null", "w", stdout) == nullptr || freopen("/dev/null", "w", stderr) == nullptr) ::_exit(126);
    ::execl(LULL_PROGRAM, LULL_PROGRAM, "harvest", "--executor", "threads", "--segment", "200us", "--iterations", "50",
            "--pairs", "10000", "--share", at.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  std::string work(std::string const& model) const {
    return "work --executor threads --attach " + address() + " " + task(model);
  }
  static std::string task(std::string const& model) { return "--task mlp:epochs=3,hidden=32,seed=3,model=" + model; }
};

TEST_F(shared_bubbles, a_task_ends_in_them_with_the_bytes_of_one_that_ran_alone) {
  ASSERT_EQ(ask("run --executor threads " + task(file("alone"))).code, 0);
  pid_t const trains = trainer();
  outcome const found = ask(work(file("shared")) + " --verify --report " + file("r.json"));
  test::kill_child(trains);
  EXPECT_EQ(found.code, 0) << found.text;
  EXPECT_EQ(content(file("shared")), content(file("alone")));
  json const read = report_in(file("r.json"));
  EXPECT_EQ(read["command"], "work");
  EXPECT_EQ(read["jobs"][0]["state"], "finished");
  EXPECT_EQ(read["jobs"][0]["verified"], true);
}

TEST_F(shared_bubbles, a_worker_that_is_killed_again_and_again_ends_with_the_same_bytes) {
  ASSERT_EQ(ask("run --executor threads " + task(file("alone"))).code, 0);
  pid_t const trains = trainer();
  std::mt19937 random{51};
  std::vector<std::string> const worker{
      LULL_PROGRAM,   "work",        "--executor", "threads",
      "--attach",     address(),     "--task",     task(file("shared")).substr(std::string{"--task "}.size()),
      "--checkpoint", file("saved"), "--resume",   "--checkpoint-every",
      "5ms"};
  for (std::uint64_t i = 0; i < trials(20); ++i) test::program(worker, std::chrono::milliseconds{20 + random() % 200});
  int const status = test::program(worker, {});
  test::kill_child(trains);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content(file("shared")), content(file("alone")));
}

TEST_F(shared_bubbles, top_shows_trainers_and_workers) {
  outcome const none = ask("top --once " + address());
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(none.text, address() + ": no trainer\n");
  pid_t const trains = trainer();
  outcome const worked = ask(work(file("model")));
  outcome const text = ask("top --once " + address());
  outcome const data = ask("top --once --json " + address());
  test::kill_child(trains);
  ASSERT_EQ(worked.code, 0) << worked.text;
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.text.find(address() + ": process " + std::to_string(trains)), std::string::npos) << text.text;
  EXPECT_NE(text.text.find(" (lull), has gone: "), std::string::npos) << text.text;
  json const all = json::parse(data.text);
  json const& worker = all[0]["state"]["workers"][0];
  EXPECT_EQ(worker["name"], "lull");
  EXPECT_EQ(worker["attached"], false);
  EXPECT_GT(worker["items"], 0);
  EXPECT_GT(worker["bubbles"], 0);
}

TEST_F(shared_bubbles, a_worker_keeps_within_its_cpus_and_its_memory) {
  pid_t const trains = trainer();
  std::string const less = " --task streaming:items=65536";
  outcome const found =
      ask("work --executor threads --cpus 0 --host-memory 200MB --attach " + address() + " --task compute" + less);
  test::kill_child(trains);
  // a sanitizer's own memory does not fit, which it says in its own words and with its own exit code
  EXPECT_EQ(is_sanitized ? found.code != 0 : found.code == 1, true) << found.code << ": " << found.text;
  EXPECT_TRUE(is_sanitized || found.text.find("memory") != std::string::npos) << found.text;
}

TEST_F(shared_bubbles, what_cannot_be_is_refused) {
  expect_refused("work --executor threads", "--attach is required");
  expect_refused("top " + file("socket"), "it must be unix:PATH");
  expect_refused("top", "TRAINER is required");
  expect_refused("work --executor threads --attach " + file("socket"), "it must be unix:PATH");
  for (char const* const cpus : {"x", "0-", "1-0", "0,", "99999", "0,,1", "-1"})
    expect_refused(work(file("model")) + " --cpus=" + cpus, "--cpus " + std::string{cpus} + ": it must be numbers");
  expect_refused(work(file("model")) + " --host-memory 0", "it must be above 0");
  expect_refused(work(file("model")) + " --host-memory much", "--host-memory much: ");
  expect_refused("harvest --executor threads --share " + address() + " --task compute", "lull work --attach");
  expect_refused("harvest --executor threads --share " + address() + " --mode none", "--share needs --mode lull");
  expect_refused("harvest --executor threads --share unix:/tmp/lull-socket", "mkdir -m 700");
}

TEST_F(shared_bubbles, without_a_trainer_the_worker_says_what_to_start) {
  outcome const found = ask(work(file("model")));
  EXPECT_EQ(found.code, 3) << found.text;
  EXPECT_NE(found.text.find("no trainer shares its bubbles at"), std::string::npos) << found.text;
  EXPECT_FALSE(std::filesystem::exists(file("model")));
}

TEST_F(shared_bubbles, an_agent_that_no_trainer_takes_gives_its_jobs_back) {
  std::string const queue = " --queue spool:" + file("spool");
  ASSERT_EQ(ask("queue init" + queue).code, 0);
  ASSERT_EQ(ask("submit " + task(file("queued")) + queue).code, 0);
  pid_t const trains = trainer();
  auto const job = [&] { return json::parse(ask("jobs --all --json" + queue).text)[0]; };
  std::vector<std::string> const agent{LULL_PROGRAM, "agent",   "--executor", "threads",
                                       "--attach",   address(), "--queue",    "spool:" + file("spool")};
  std::vector<std::string> in_observe{"/usr/bin/env", "LULL=observe"};
  in_observe.insert(in_observe.end(), agent.begin(), agent.end());
  pid_t const wrong = test::started_program(in_observe);
  EXPECT_TRUE(within_time([&] { return job()["attempts"] > 1; })) << job();
  EXPECT_EQ(::kill(wrong, SIGINT), 0);
  EXPECT_EQ(WEXITSTATUS(test::status_of(wrong)), 130);
  EXPECT_EQ(job()["state"], "saved");
  pid_t const right = test::started_program(agent);
  EXPECT_TRUE(within_time([&] { return job()["state"] == "done"; })) << job();
  ::kill(right, SIGINT);
  EXPECT_EQ(WEXITSTATUS(test::status_of(right)), 130);
  test::kill_child(trains);
}

}  // namespace
}  // namespace lull
