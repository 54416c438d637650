// SPDX-License-Identifier: Apache-2.0
// A trainer and its workers as processes of their own on one GPU, under NVIDIA's multi-process service (MPS), which
// these tests start and stop themselves.
#include <stdlib.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/executor.hpp>
#include <lull/tests/apps/lull/program.hpp>
#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/killed_program.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

/// The service, for this process's children.
class service {
 public:
  service() {
    ::setenv("CUDA_MPS_PIPE_DIRECTORY", folder_.at("pipes").c_str(), 1);
    ::setenv("CUDA_MPS_LOG_DIRECTORY", folder_.at("logs").c_str(), 1);
    for (char const* const each : {"pipes", "logs"}) std::filesystem::create_directory(folder_.at(each));
    runs_ = std::system("timeout 20 nvidia-cuda-mps-control -d > /dev/null 2>&1") == 0;
  }
  ~service() {
    if (runs_ && std::system("echo quit -t 5 | timeout 20 nvidia-cuda-mps-control > /dev/null 2>&1") != 0)
      std::fputs("the service did not stop\n", stderr);
    ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    ::unsetenv("CUDA_MPS_LOG_DIRECTORY");
  }
  service(service const&) = delete;
  service& operator=(service const&) = delete;
  bool runs() const noexcept { return runs_; }

 private:
  test::test_folder const folder_;
  bool runs_ = false;
};

class shared_on_cuda : public program {
 protected:
  /// Each test has a service of its own: one whose client was killed in mid-kernel refuses others for a while.
  void SetUp() override {
    if (std::string const why = why_no_cuda(0); !why.empty()) GTEST_SKIP() << "NOT RUN: " << why;
    mps_ = std::make_unique<service>();
    if (!mps_->runs()) GTEST_SKIP() << "NOT RUN: nvidia-cuda-mps-control does not start here";
  }

  std::string address() const { return "unix:" + file("socket"); }
  /// Replays for longer than any test; the caller kills it. `without_service`: it is no client of it.
  pid_t trainer(bool without_service = false) const {
    std::string const at = address();
    std::filesystem::remove(file("socket"));
    pid_t const child = ::fork();
    if (child != 0) {
      EXPECT_TRUE(within_time([&] { return std::filesystem::exists(file("socket")); })) << content(file("trainer.log"));
      return child;
    }
    if (without_service) ::setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1);
    if (freopen("/dev/null", "w", stdout) == nullptr || freopen(file("trainer.log").c_str(), "w", stderr) == nullptr)
      ::_exit(126);
    ::execl(LULL_PROGRAM, LULL_PROGRAM, "harvest", "--executor", "cuda", "--segment", "200us", "--iterations", "50",
            "--pairs", "10000", "--share", at.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  static std::string task(std::string const& model) { return "mlp:epochs=20,hidden=64,seed=3,model=" + model; }
  std::string work(std::string const& model) const {
    return "work --executor cuda --attach " + address() + " --task " + task(model);
  }
  void expect_alive(pid_t trains) const {
    EXPECT_EQ(::waitpid(trains, nullptr, WNOHANG), 0) << content(file("trainer.log"));
  }
  /// In order, so that the service has no fault.
  static void end(pid_t trains) {
    ::kill(trains, SIGINT);
    test::status_of(trains, 60s);
  }

  std::unique_ptr<service> mps_;
};

TEST_F(shared_on_cuda, a_task_ends_in_the_bubbles_of_another_process_with_the_bytes_of_one_that_ran_alone) {
  ASSERT_EQ(ask("run --executor cuda --task " + task(file("alone"))).code, 0);
  pid_t const trains = trainer();
  outcome const found = ask(work(file("shared")) + " --report " + file("r.json"));
  outcome const seen = ask("top --once --json " + address());
  expect_alive(trains);
  end(trains);
  EXPECT_EQ(found.code, 0) << found.text << content(file("trainer.log"));
  EXPECT_EQ(content(file("shared")), content(file("alone")));
  json const worker = json::parse(seen.text)[0]["state"]["workers"][0];
  EXPECT_GT(worker["items"], 0);
  EXPECT_GT(worker["bubbles"], 0);
}

TEST_F(shared_on_cuda, two_workers_take_turns) {
  pid_t const trains = trainer();
  pid_t const other = test::forked([&] { ::_exit(ask(work(file("one"))).code); });
  outcome const found = ask(work(file("another")));
  int const status = test::status_of(other, 60s);
  expect_alive(trains);
  end(trains);
  EXPECT_EQ(found.code, 0) << found.text;
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content(file("one")), content(file("another")));
}

/// Under MPS a kill may end the trainer (docs/decisions/own-process.md); the job loses nothing by either.
TEST_F(shared_on_cuda, a_worker_that_is_killed_at_any_instant_ends_with_the_same_bytes) {
  ASSERT_EQ(ask("run --executor cuda --task " + task(file("alone"))).code, 0);
  pid_t trains = trainer();
  std::mt19937 random{51};
  std::vector<std::string> const worker{
      LULL_PROGRAM,         "work",     "--executor",   "cuda",        "--attach",           address(), "--task",
      task(file("shared")), "--resume", "--checkpoint", file("saved"), "--checkpoint-every", "5ms"};
  for (int i = 0; i < 20; ++i) {
    test::program(worker, 400ms + std::chrono::milliseconds{random() % 800});
    if (::waitpid(trains, nullptr, WNOHANG) == 0 && content(file("trainer.log")).find("is off") == std::string::npos)
      continue;
    std::fprintf(stderr, "kill %d ended the trainer\n", i + 1);
    test::kill_child(trains);
    mps_.reset();
    mps_ = std::make_unique<service>();
    trains = trainer();
  }
  int const status = test::program(worker, {});
  expect_alive(trains);
  end(trains);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content(file("shared")), content(file("alone")));
}

TEST_F(shared_on_cuda, a_worker_whose_trainer_is_killed_ends_with_the_next_one_or_says_that_the_gpu_is_lost) {
  ASSERT_EQ(ask("run --executor cuda --task " + task(file("alone"))).code, 0);
  pid_t const first = trainer();
  std::string const saves = " --resume --checkpoint-every 5ms --checkpoint " + file("saved");
  pid_t const worker = test::forked([&] {
    outcome const found =
        ask("work --executor cuda --attach " + address() + " --task mlp:epochs=20000,hidden=64,seed=3" + saves);
    std::ofstream{file("said")} << found.text;
    ::_exit(found.code);
  });
  std::this_thread::sleep_for(2s);
  test::kill_child(first);
  int status = 0;
  bool const ended = within_time([&] { return ::waitpid(worker, &status, WNOHANG) == worker; }, 20s);
  if (!ended) test::kill_child(worker);  // it waits for the next trainer
  if (ended) {
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_NE(content(file("said")).find("the trainer"), std::string::npos) << content(file("said"));
  }
  // Either way a worker of the next trainer goes on, at the latest with a fresh service.
  mps_.reset();
  mps_ = std::make_unique<service>();
  pid_t const next = trainer();
  outcome const found = ask(work(file("shared")) + " --resume --checkpoint " + file("saved2"));
  expect_alive(next);
  end(next);
  EXPECT_EQ(found.code, 0) << found.text;
  EXPECT_EQ(content(file("shared")), content(file("alone")));
}

TEST_F(shared_on_cuda, a_worker_that_overwrites_all_it_can_reach_is_killed_and_the_trainer_goes_on) {
  pid_t const trains = trainer();
  int const status = test::program({LULL_OVERWRITES, file("socket")}, {});
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status << content(file("trainer.log"));
  EXPECT_NE(content(file("trainer.log")).find("all workers are killed"), std::string::npos)
      << content(file("trainer.log"));
  std::this_thread::sleep_for(1s);
  expect_alive(trains);
  EXPECT_EQ(ask(work(file("m"))).code, 1) << "bubbles are no longer shared";
  end(trains);
}

TEST_F(shared_on_cuda, processes_of_which_one_or_both_are_without_the_service_are_refused) {
  for (bool const trainer_is_without : {false, true}) {
    pid_t const trains = trainer(trainer_is_without);
    outcome const without = ask(work(file("m")), "CUDA_MPS_PIPE_DIRECTORY=/nonexistent ");
    EXPECT_EQ(without.code, 2) << without.text;
    EXPECT_NE(without.text.find(trainer_is_without ? "work without MPS" : "works under MPS, and this process does not"),
              std::string::npos)
        << without.text;
    EXPECT_NE(without.text.find("nvidia-cuda-mps-control -d"), std::string::npos);
    if (trainer_is_without) {
      outcome const with = ask(work(file("m")));
      EXPECT_NE(with.text.find("does not work under MPS, as this process does"), std::string::npos) << with.text;
      EXPECT_NE(content(file("trainer.log")).find("no worker can attach"), std::string::npos);
    }
    expect_alive(trains);
    end(trains);
  }
}

}  // namespace
}  // namespace lull
