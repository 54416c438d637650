// SPDX-License-Identifier: Apache-2.0
// The program, stopped before its tasks are at their end: by a signal, and by a limit.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lull/tests/apps/lull/program.hpp>
#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

/// True also of a process that is over.
bool catches_interrupts(pid_t process) {
  std::ifstream status{"/proc/" + std::to_string(process) + "/status"};
  std::string name = "?";
  std::string value;
  while (name != "SigCgt:" && status >> name) std::getline(status, value);
  if (name != "SigCgt:") return true;
  return (std::stoull(value, nullptr, 16) >> (SIGINT - 1) & 1) != 0;
}

/// Longer than any limit here.
std::string endless(std::string const& model) { return "--task mlp:epochs=100000,hidden=16,model=" + model; }

TEST_F(program, run_at_most_says_what_did_not_finish) {
  std::string const one = "run --executor threads --at-most 50ms " + endless(file("model"));
  for (std::string const& command : {one, one + " --task compute:items=10,rounds=2"}) {
    outcome const found = ask(command);
    EXPECT_EQ(found.code, 0) << found.text;
    EXPECT_NE(found.text.find("not finished: --at-most 50ms was over first"), std::string::npos) << found.text;
    EXPECT_FALSE(std::filesystem::exists(file("model")));
  }
}

TEST_F(program, harvest_at_most_ends_the_task_that_the_pairs_leave_unfinished) {
  std::string const saved = " --checkpoint " + file("saved");
  outcome const found =
      ask(quick_harvest + endless(file("model")) + saved + " --verify --at-most 500ms --report " + file("r.json"));
  EXPECT_EQ(found.code, 0) << found.text;
  EXPECT_NE(found.text.find("not finished: --at-most 500ms was over first"), std::string::npos) << found.text;
  EXPECT_NE(found.text.find("not verified"), std::string::npos) << found.text;
  EXPECT_FALSE(std::filesystem::exists(file("model")));
  EXPECT_TRUE(std::filesystem::exists(file("saved/mlp.safetensors")));
  json const read = report_in(file("r.json"));
  EXPECT_EQ(read["interrupted"], false);
  ASSERT_EQ(read["jobs"].size(), 1U);
  EXPECT_EQ(read["jobs"][0]["state"], "cancelled");
}

TEST_F(program, harvest_at_most_ends_the_pairs) {
  for (std::string const mode : {"lull", "naive", "none"}) {
    outcome const found =
        ask("harvest --executor threads --segment 200us --iterations 5 --pairs 10000 --at-most 300ms --mode " + mode +
            " " + "--task compute:rounds=1000000 --report " + file("p.json"));
    EXPECT_EQ(found.code, 0) << found.text;
    json const read = report_in(file("p.json"));
    EXPECT_EQ(read["interrupted"], false);
    json const& done = read["training"]["pairs"];
    std::uint64_t const pairs = done.is_null() ? 0 : done.get<std::uint64_t>();
    EXPECT_LT(pairs, 10000U);
    EXPECT_NE(found.text.find(std::to_string(pairs) + " of 10000 pairs: --at-most 300ms was over first"),
              std::string::npos)
        << found.text;
  }
}

TEST_F(program, a_limit_that_is_none_is_refused) {
  for (std::string const command : {"run", "harvest", "run --task compute"}) {
    for (char const* const limit : {"soon", "-1s", "5"}) {
      expect_refused(command + " --executor threads --task compute --at-most=" + limit, "--at-most");
    }
  }
}

TEST_F(program, an_interrupt_ends_it_with_a_report) {
  struct moment {
    char const* command;
    char const* mode;
    std::chrono::milliseconds after;  // it can be interrupted: while it prepares, measures the task alone, replays
    bool several = false;             // tasks, one of which is over soon
  };
  for (moment const& when :
       {moment{"harvest", "lull", 0ms}, moment{"harvest", "lull", 700ms}, moment{"harvest", "lull", 3s},
        moment{"harvest", "naive", 1500ms}, moment{"run", "lull", 0ms}, moment{"run", "naive", 300ms},
        moment{"run", "lull", 0ms, true}, moment{"run", "lull", 500ms, true}, moment{"harvest", "lull", 5s, true}}) {
    std::string const path = file("i.json");
    std::filesystem::remove(path);
    std::string const text = file("text");
    pid_t const child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::signal(SIGINT, SIG_DFL);
      int const out = ::open(text.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      ::dup2(out, 1);
      ::dup2(out, 2);
      std::vector<char const*> words{
          LULL_PROGRAM, when.command, "--executor", "threads",  "--task",    "compute:rounds=1000000",
          "--mode",     when.mode,    "--verify",   "--report", path.c_str()};
      if (when.several)
        words.insert(words.end(), {"--task", "compute:items=10,rounds=2", "--task", "streaming:rounds=30000"});
      words.push_back(nullptr);
      ::execv(LULL_PROGRAM, const_cast<char**>(words.data()));
      ::_exit(127);
    }
    await_that([&] { return catches_interrupts(child); });
    std::this_thread::sleep_for(
        when.after);  // where the machine is slow it is interrupted earlier in its work, which must end alike
    ::kill(child, SIGINT);
    std::this_thread::sleep_for(1ms);
    ::kill(child, SIGINT);  // the same wish: as timeout tells a process, and then its group
    int const status = test::status_of(child, 120s);
    ASSERT_TRUE(WIFEXITED(status)) << when.command << ' ' << when.after.count() << ": " << status;
    EXPECT_EQ(WEXITSTATUS(status), 130) << when.command << ' ' << when.after.count();
    EXPECT_EQ(report_in(path)["interrupted"], true) << when.command << ' ' << when.after.count();
  }
}

}  // namespace
}  // namespace lull
