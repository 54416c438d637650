// SPDX-License-Identifier: Apache-2.0
// Jobs that are stopped, killed and taken up again.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <lull/host/atomic_file.hpp>
#include <lull/host/catalogue/catalogue.hpp>
#include <lull/host/cli/alone.hpp>
#include <lull/host/cli/checkpoints.hpp>
#include <lull/host/counter_random.hpp>
#include <lull/host/error.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class saved_jobs : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/lull_saved_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  struct outcome {
    job_state state;
    bool resumed;
    std::vector<std::string> arrays;  // as bytes
  };
  /// Runs a task until it has opened so many phases more, or to its end; saves when it is stopped.
  outcome run(std::string const& task, std::uint64_t phases, std::chrono::nanoseconds every = 1h) {
    task_request const request = parse_task(task, known_tasks());
    auto const machine = make_executor({.kind = executor_kind::threads});
    auto const owner = entry_of(request).make(request.values);
    owner->prepare(*machine);
    checkpoints saves{folder_ / "saved", every, true, request, *owner, *machine};
    std::uint64_t first = ~std::uint64_t{0};
    auto const stop = [&](std::uint64_t opened) {
      first = std::min(first, opened);
      return opened - first >= phases;
    };
    alone_result const done = run_alone(*machine, owner->describe(), stop, owner.get(), &saves);
    outcome found{done.state, saves.resumed(), {}};
    for (task_array const& each : owner->arrays()) {
      std::string bytes(each.bytes, '\0');
      machine->read(bytes.data(), each.memory, each.bytes);
      found.arrays.push_back(std::move(bytes));
    }
    return found;
  }

  fs::path folder_;
};

constexpr std::uint64_t to_the_end = ~std::uint64_t{0} - 1;

TEST_F(saved_jobs, end_with_the_bytes_of_one_that_was_never_stopped) {
  for (std::string const task : {"mlp:hidden=24,epochs=3,batch=50", "pagerank:kronecker=14,sweeps=300,tolerance=1e-30", "streaming:items=300,rounds=100"}) {
    outcome const whole = run(task, to_the_end);
    ASSERT_EQ(whole.state, job_state::finished) << task;
    EXPECT_FALSE(whole.resumed);
    int stops = 0;
    outcome last = run(task, 3);
    for (; last.state != job_state::finished; ++stops) {
      ASSERT_LT(stops, 1000) << task;
      last = run(task, 20 + 20 * static_cast<std::uint64_t>(stops));
      EXPECT_TRUE(last.resumed) << task;
    }
    EXPECT_GT(stops, 0) << task;
    EXPECT_EQ(last.arrays, whole.arrays) << task;
    EXPECT_TRUE(fs::is_empty(folder_ / "saved"));  // nothing to take up any more
  }
}

TEST_F(saved_jobs, saving_while_they_run_changes_nothing) {
  std::string const task = "mlp:hidden=24,epochs=3,batch=50";
  EXPECT_EQ(run(task, to_the_end).arrays, run(task, to_the_end, 1ns).arrays);
}

TEST_F(saved_jobs, of_other_settings_or_inputs_are_refused_and_kept) {
  run("mlp:hidden=24,epochs=3", 5);
  std::string const before = read_file(folder_ / "saved/mlp.npz", 1 << 24);
  EXPECT_THROW(run("mlp:hidden=24,epochs=4", 5), input_error);
  EXPECT_EQ(read_file(folder_ / "saved/mlp.npz", 1 << 24), before);
  write_file(folder_ / "saved/mlp.npz", before.substr(0, before.size() / 2));
  EXPECT_THROW(run("mlp:hidden=24,epochs=3", 5), input_error);
  EXPECT_THROW(run("images:in=" + folder_.string() + ",out=" + (folder_ / "out").string(), 5), error);
}

/// Returns the exit status as waitpid tells it.
int program(std::vector<std::string> arguments, std::chrono::microseconds kill_after) {
  pid_t const child = fork();
  if (child == 0) {
    std::vector<char*> words;
    for (std::string& each : arguments) words.push_back(each.data());
    words.push_back(nullptr);
    freopen("/dev/null", "w", stdout);
    freopen("/dev/null", "w", stderr);
    execv(words.front(), words.data());
    _exit(127);
  }
  if (kill_after.count() != 0) {
    std::this_thread::sleep_for(kill_after);
    kill(child, SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST_F(saved_jobs, killed_at_any_instant_go_on_from_the_last_file) {
  auto const command = [&](char const* model) {
    return std::vector<std::string>{LULL_PROGRAM, "run", "--executor", "threads", "--checkpoint", (folder_ / "killed").string(), "--checkpoint-every", "1ms", "--resume",
                                    "--task", "mlp:hidden=64,epochs=40,losses=" + (folder_ / model).string()};
  };
  ASSERT_EQ(program(command("whole.csv"), 0us), 0);
  counter_random const random{1, 0};
  for (std::uint64_t kills = 0; kills < 8; ++kills) {
    program(command("killed.csv"), std::chrono::microseconds{20'000 + random.below(kills, 150'000)});
  }
  ASSERT_EQ(program(command("killed.csv"), 0us), 0);
  EXPECT_EQ(read_file(folder_ / "killed.csv", 1 << 20), read_file(folder_ / "whole.csv", 1 << 20));
}

}  // namespace
}  // namespace lull
