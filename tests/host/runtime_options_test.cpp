// SPDX-License-Identifier: Apache-2.0
// How a runtime changes the options that it is given: the environment variable, and limits.
#include <chrono>
#include <cstddef>
#include <cstdlib>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tests/support/cursor_state.hpp>

namespace lull {
namespace {

TEST(runtime, off_in_the_environment_places_no_operation) {
  ASSERT_EQ(setenv("LULL", "off", 1), 0);
  probe_arrays arrays{{10}};
  threads_stream trainer;
  {
    runtime side{{.executor = {.kind = executor_kind::threads}}};
    job const task = side.submit(arrays.task());
    for (int i = 0; i < 100; ++i) bubble const idle{side, &trainer, site{"wait"}};
    EXPECT_EQ(side.counts()[counted::opened], 0U);
  }
  ASSERT_EQ(setenv("LULL", "sometimes", 1), 0);
  EXPECT_THROW(runtime({.executor = {.kind = executor_kind::threads}}), usage_error);
  unsetenv("LULL");
}

TEST(runtime, the_environment_lowers_the_mode_and_never_raises_it) {
  using enum runtime_mode;
  struct trial {
    runtime_mode asked;
    char const* word;
    runtime_mode found;
  };
  for (trial const each :
       {trial{on, "on", on}, trial{on, "observe", observe}, trial{on, "off", off}, trial{observe, "on", observe},
        trial{observe, "observe", observe}, trial{observe, "off", off}, trial{off, "on", off},
        trial{off, "observe", off}, trial{off, "off", off}}) {
    ASSERT_EQ(setenv("LULL", each.word, 1), 0);
    runtime const side{{.executor = {.kind = executor_kind::threads}, .mode = each.asked}};
    EXPECT_EQ(side.mode(), each.found) << each.word;
    EXPECT_EQ(side.why_off(), each.found == off && each.asked != off ? "LULL=off" : "") << each.word;
  }
  unsetenv("LULL");
}

TEST(runtime, a_job_of_one_that_runs_nothing_is_off_from_the_start) {
  for (runtime_mode const mode : {runtime_mode::off, runtime_mode::observe}) {
    probe_arrays arrays{{10}};
    runtime side{{.executor = {.kind = executor_kind::threads}, .mode = mode}};
    job task = side.submit(arrays.task());
    EXPECT_EQ(task.progress().state, job_state::off);
    EXPECT_STREQ(name_of(task.progress().state), "off");
    EXPECT_TRUE(task.wait(std::chrono::nanoseconds{0}));
    EXPECT_TRUE(side.wait_all(std::chrono::nanoseconds{0}));
    task.pause();
    task.resume();
    task.feed(1);
    EXPECT_TRUE(task.hold(std::chrono::nanoseconds{0}));
    task.let_go();
    task.cancel();
    EXPECT_EQ(task.progress().state, job_state::off) << "a final state stays";
    EXPECT_EQ(task.rounds(), 0U);
    EXPECT_EQ(side.memory().give_back(1, std::chrono::nanoseconds{0}), 0U);
  }
}

TEST(runtime, memory_over_the_limit_is_refused_with_the_figures) {
  probe_arrays arrays{{10}};
  runtime side{{.executor = {.kind = executor_kind::threads, .memory_limit_bytes = std::size_t{4} << 20}}};
  EXPECT_THROW(executor_of(side).allocate(std::size_t{8} << 20), limit_error);
}

}  // namespace
}  // namespace lull
