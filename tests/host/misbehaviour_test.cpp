// SPDX-License-Identifier: Apache-2.0
// Wrong calls of hosts: nothing hangs, nothing is lost, and calls that were not understood are counted.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lull/host/detail/environment.hpp>
#include <lull/host/detail/harvested_device.hpp>
#include <lull/host/error.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tests/host/recording_executor.hpp>
#include <lull/tests/support/cursor_state.hpp>
#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/halt.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class misbehaving : public testing::Test {
 protected:
  std::unique_ptr<runtime> make(runtime_options options = {}) {
    options.tuning.close = closing{};
    options.tuning.armed_ahead = 10s;
    options.log = [this](std::string_view line) {
      std::lock_guard const lock{log_mutex_};
      log_.emplace_back(line);
    };
    return std::make_unique<runtime>(std::make_unique<recording_executor>(seen), std::move(options));
  }
  job submit(runtime& side) {
    seen.name(arrays.extents.data(), "a");
    job const task = side.submit(arrays.task(), "a");
    await_that([&] { return side.ready(&trainer); });
    seen.take();
    return task;
  }
  /// Runs bubbles until the job is done, whatever happened before.
  void is_still_done(runtime& side, job const& task) {
    for (int i = 0; i < 1'000'000 && !task.wait(0ns); ++i) {
      {
        bubble const idle{side, &trainer, site{"later"}};
        trainer.enqueue([] { std::this_thread::sleep_for(200us); });
      }
      trainer.synchronize();
    }
    ASSERT_TRUE(task.wait(long_enough));
    EXPECT_STREQ(arrays.wrong(), nullptr);
  }

  record seen;
  threads_stream trainer;
  probe_arrays arrays{{400, 3, 100}};
  std::mutex log_mutex_;
  std::vector<std::string> log_;
};

TEST_F(misbehaving, an_exception_inside_a_scope_closes_the_bubble) {
  auto const side = make();
  job const task = submit(*side);
  halt ahead;  // the host's: a late one gets other workers
  trainer.enqueue(ahead.operation());
  try {
    bubble const idle{*side, &trainer, site{"throws"}};
    throw std::runtime_error{"the trainer's"};
  } catch (std::runtime_error const&) {
  }
  EXPECT_EQ(seen.take(), (calls{"open_edge", "close_edge", "launch a"}));
  ahead.let_go();
  is_still_done(*side, task);
}

TEST_F(misbehaving, an_open_without_close_ends_when_its_site_opens_again) {
  auto const side = make();
  job const task = submit(*side);
  halt ahead;
  trainer.enqueue(ahead.operation());
  side->open(&trainer, site{"again"});
  EXPECT_EQ(side->open(&trainer, site{"another"}).bubble, 0U);
  bubble_id const second = side->open(&trainer, site{"again"});
  side->close(second, &trainer);
  EXPECT_EQ(seen.take(), (calls{"open_edge", "close_edge", "open_edge", "close_edge", "launch a"}));
  EXPECT_EQ(side->counts()[counted::abandoned], 1U);
  EXPECT_EQ(side->counts()[counted::nested], 1U);
  ahead.let_go();
  is_still_done(*side, task);
}

TEST_F(misbehaving, open_and_close_may_come_from_different_threads) {
  auto const side = make();
  job const task = submit(*side);
  for (int i = 0; i < 20; ++i) {
    bubble_id const id = side->open(&trainer, site{"across"});
    std::thread{[&] { side->close(id, &trainer); }}.join();
  }
  EXPECT_EQ(side->counts()[counted::unmatched], 0U);
  is_still_done(*side, task);
}

TEST_F(misbehaving, streams_of_another_device_are_left_alone) {
  auto const side = make();
  job const task = submit(*side);
  seen.foreign = true;
  side->close(side->open(&trainer, site{"foreign"}), &trainer);
  EXPECT_EQ(seen.take(), calls{});
  EXPECT_EQ(side->counts()[counted::foreign_stream], 1U);
  seen.foreign = false;
  is_still_done(*side, task);
}

TEST_F(misbehaving, a_trainers_stream_may_go_first) {
  auto const side = make();
  job const task = submit(*side);
  {
    threads_stream short_lived;
    for (int i = 0; i < 10; ++i) bubble const idle{*side, &short_lived, site{"short-lived"}};
  }
  is_still_done(*side, task);
}

TEST_F(misbehaving, a_forked_child_harvests_nothing_and_ends) {
  auto const side = make();
  job const task = submit(*side);
  pid_t const child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bubble_id const id = side->open(&trainer, site{"child"});
    side->close(id, &trainer);
    bool refused = false;
    try {
      side->submit(arrays.task());
    } catch (usage_error const&) {
      refused = true;
    }
    const_cast<std::unique_ptr<runtime>&>(side).reset();
    _exit(id.bubble == 0 && refused ? 0 : 1);
  }
  int const status = test::status_of(child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  is_still_done(*side, task);
}

TEST_F(misbehaving, a_second_runtime_that_harvests_a_gpu_is_refused) {
  seen.kind = executor_kind::cuda;
  auto first = make();
  try {
    make();
    FAIL() << "two of them would take an SM's share twice";
  } catch (usage_error const& why) {
    EXPECT_NE(std::string{why.what()}.find("CUDA device 0"), std::string::npos) << why.what();
  }
  runtime_options other;
  for (runtime_mode const mode : {runtime_mode::observe, runtime_mode::off}) {  // they run nothing
    other.mode = mode;
    EXPECT_EQ(make(other)->mode(), mode);
  }
  other.mode = runtime_mode::on;
  seen.device = 1;
  EXPECT_EQ(make(other)->mode(), runtime_mode::on);
  seen.device = 0;
  EXPECT_THROW(make(), usage_error) << "those took nothing and let nothing go";
  seen.kind = executor_kind::threads;
  EXPECT_EQ(make()->mode(), runtime_mode::on);
  seen.kind = executor_kind::cuda;
  first.reset();
  EXPECT_EQ(make()->mode(), runtime_mode::on);
}

TEST_F(misbehaving, a_runtime_that_could_not_be_made_harvests_no_gpu) {
  seen.kind = executor_kind::cuda;
  runtime_options without_code;
  without_code.tasks = {task_type{}};
  EXPECT_THROW(make(without_code), usage_error);
  EXPECT_EQ(make()->mode(), runtime_mode::on);
}

TEST_F(misbehaving, a_forked_child_may_harvest_what_its_parent_does) {
  seen.kind = executor_kind::cuda;
  auto const side = make();
  pid_t const child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      detail::harvested_device const again{0};
      const_cast<std::unique_ptr<runtime>&>(side).reset();  // the parent's: lets nothing go here
      detail::harvested_device const twice{0};
    } catch (usage_error const& why) {
      _exit(std::string_view{why.what()}.find("already") != std::string_view::npos && !side ? 0 : 2);
    }
    _exit(1);
  }
  int const status = test::status_of(child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_THROW(make(), usage_error);
}

TEST_F(misbehaving, beside_blocking_launches_and_injected_tools_a_gpus_runtime_is_off) {
  seen.kind = executor_kind::cuda;
  for (char const* const name : {"CUDA_LAUNCH_BLOCKING", "CUDA_INJECTION64_PATH"}) {
    log_.clear();
    ASSERT_EQ(setenv(name, "1", 1), 0);
    EXPECT_EQ(make()->mode(), runtime_mode::off) << name;
    EXPECT_EQ(log_.size(), 1U) << name;
    EXPECT_NE(make()->why_off().find(name), std::string::npos) << make()->why_off();
    ASSERT_EQ(setenv("LULL", "on", 1), 0);
    EXPECT_EQ(make()->mode(), runtime_mode::on) << name;
    EXPECT_EQ(make()->why_off(), "") << name;
    runtime_options observes;
    observes.mode = runtime_mode::observe;
    EXPECT_EQ(make(observes)->mode(), runtime_mode::observe) << name << ": the check is lifted, and nothing runs";
    unsetenv("LULL");
    unsetenv(name);
  }
  EXPECT_EQ(make()->mode(), runtime_mode::on);
  seen.kind = executor_kind::threads;
  ASSERT_EQ(setenv("CUDA_LAUNCH_BLOCKING", "1", 1), 0);
  EXPECT_EQ(make()->mode(), runtime_mode::on);  // means nothing to CPU threads
  ASSERT_EQ(setenv("CUDA_LAUNCH_BLOCKING", "0", 1), 0);
  EXPECT_FALSE(detail::launches_that_block());
  unsetenv("CUDA_LAUNCH_BLOCKING");
}

TEST_F(misbehaving, with_two_or_three_connections_a_gpu_is_not_harvested_unless_the_environment_wants_it) {
  seen.kind = executor_kind::cuda;
  for (char const* few : {"2", "3"}) {
    ASSERT_EQ(setenv("CUDA_DEVICE_MAX_CONNECTIONS", few, 1), 0);
    EXPECT_EQ(make()->mode(), runtime_mode::off);
    ASSERT_FALSE(log_.empty());
    EXPECT_NE(log_.back().find("wait for ever"), std::string::npos) << log_.back();
    runtime_options observes;
    observes.mode = runtime_mode::observe;
    EXPECT_EQ(make(observes)->mode(), runtime_mode::observe);
    ASSERT_EQ(setenv("LULL", "on", 1), 0);
    EXPECT_EQ(make()->mode(), runtime_mode::on);
    unsetenv("LULL");
  }
  for (char const* enough : {"1", "4", "8"}) {
    ASSERT_EQ(setenv("CUDA_DEVICE_MAX_CONNECTIONS", enough, 1), 0);
    EXPECT_EQ(make()->mode(), runtime_mode::on);
  }
  unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
}

TEST_F(misbehaving, with_one_connection_a_gpus_workers_are_launched_at_open) {
  seen.kind = executor_kind::cuda;
  ASSERT_EQ(setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1), 0);
  make();
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_NE(log_[0].find("when a bubble opens"), std::string::npos);
  ASSERT_EQ(setenv("CUDA_DEVICE_MAX_CONNECTIONS", "8", 1), 0);
  make();
  EXPECT_EQ(log_.size(), 1U);
  unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
}

/// Keeps a runtime until the process ends, with a job that never ends.
void exit_in_the_middle() {
  static probe_arrays arrays{{1u << 20}};
  static threads_stream trainer;
  static runtime side{{.executor = {.kind = executor_kind::threads, .processors = 2}}};
  static job const task = side.submit(arrays.task());
  await_that([&] { return side.ready(&trainer); });
  for (int i = 0; i < 20; ++i) bubble const idle{side, &trainer, site{"last"}};
  side.open(&trainer, site{"open at the end"});
  std::exit(0);
}

TEST(misbehaving_process, may_exit_with_a_task_that_never_ends) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_in_the_middle(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lull
