// SPDX-License-Identifier: Apache-2.0
// What programs cannot see of the C library: what it makes of their options, which locks its calls take, how long its
// ends take.
#include <atomic>
#include <chrono>
#include <future>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/apps/c/checkpoint_name.hpp>
#include <lull/apps/c/held.hpp>
#include <lull/apps/c/options.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/held_task.hpp>
#include <lull/tests/support/test_folder.hpp>
#include <lull/tests/support/threads_job.hpp>

namespace lull::c {
namespace {

using namespace std::chrono_literals;

lull_options on_threads() {
  lull_options made = LULL_OPTIONS;
  made.executor = LULL_EXECUTOR_THREADS;
  made.processors = 1;
  made.tasks = "";
  return made;
}

std::size_t loaded(char const* tasks) {
  lull_options asked = on_threads();
  asked.tasks = tasks;
  return read_options(asked).tasks.size();
}

TEST(options, say_how_long_a_worker_may_wait) {
  lull_options asked = on_threads();
  EXPECT_FALSE(read_options(asked).tuning.armed_ahead.has_value());
  asked.tuning.armed_ahead_ns = -1;
  EXPECT_EQ(read_options(asked).tuning.armed_ahead, 0ns);
  for (std::int64_t const ns : {std::int64_t{1}, std::int64_t{250'000}, std::int64_t{1'000'000'000'000}}) {
    asked.tuning.armed_ahead_ns = ns;
    EXPECT_EQ(read_options(asked).tuning.armed_ahead, std::chrono::nanoseconds{ns});
  }
  for (std::int64_t const ns : {std::int64_t{-2}, std::numeric_limits<std::int64_t>::min(),
                                std::int64_t{1'000'000'000'001}, std::numeric_limits<std::int64_t>::max()}) {
    asked.tuning.armed_ahead_ns = ns;
    EXPECT_THROW(read_options(asked), refusal) << ns;
  }
}

TEST(options, say_below_which_length_bubbles_are_passed_over) {
  lull_options asked = on_threads();
  EXPECT_EQ(read_options(asked).tuning.min_bubble, default_min_bubble);
  for (auto const& [ns, found] : {std::pair{-1, 0ns}, {1, 1ns}, {100'000, 100us}, {1'000'000'000, 1s}}) {
    asked.tuning.min_bubble_ns = ns;
    EXPECT_EQ(read_options(asked).tuning.min_bubble, found);
  }
  for (std::int64_t const ns : {std::int64_t{-2}, std::int64_t{1'000'000'001}}) {
    asked.tuning.min_bubble_ns = ns;
    EXPECT_THROW(read_options(asked), refusal) << ns;
  }
}

TEST(options, say_how_long_before_a_close_side_work_rests) {
  lull_options asked = on_threads();
  for (auto const& [ns, found] : {std::pair{0, default_rest_before_close}, {-1, 0ns}, {1, 1ns}, {1'000'000, 1ms}}) {
    asked.tuning.rest_ns = ns;
    EXPECT_EQ(read_options(asked).tuning.rest_before_close, found) << ns;
  }
  for (std::int64_t const ns : {-2, 1'000'001}) {
    asked.tuning.rest_ns = ns;
    EXPECT_THROW(read_options(asked), refusal) << ns;
  }
}

TEST(options, say_what_training_is_worth) {
  lull_options asked = on_threads();
  EXPECT_EQ(read_options(asked).tuning.training_worth, std::nullopt);
  for (auto const& [worth, found] : {std::pair{-1.0, 0.0}, {0.5, 0.5}, {30, 30}, {1e6, 1e6}}) {
    asked.tuning.training_worth = worth;
    EXPECT_EQ(read_options(asked).tuning.training_worth, found);
  }
  for (double const worth : {-2.0, -0.5, 1'000'001.0, std::numeric_limits<double>::quiet_NaN()}) {
    asked.tuning.training_worth = worth;
    EXPECT_THROW(read_options(asked), refusal) << worth;
  }
}

TEST(options, name_each_type_once) {
  EXPECT_EQ(loaded(""), 0U);
  EXPECT_EQ(loaded("compute"), 1U);
  EXPECT_EQ(loaded("compute,streaming,compute:items=7;rounds=3"), 2U);
  EXPECT_EQ(loaded("product,product:rows=64;columns=64"), 1U);
  EXPECT_EQ(loaded("product:leave=saved;rows=64,product:rows=64;leave=saved,product:leave=behind,compute"), 3U);
}

TEST(exchange, gets_context_and_stream_and_its_failure_is_told) {
  struct called {
    std::int32_t returns;
    void* stream;
  } seen{0, nullptr};
  lull_exchange const noting = [](void* context, void* stream) {
    auto& into = *static_cast<called*>(context);
    into.stream = stream;
    return into.returns;
  };
  auto const exchange = exchange_of(noting, &seen);
  exchange(&seen);
  EXPECT_EQ(seen.stream, &seen);
  seen.returns = -7;
  try {
    exchange(&seen);
    FAIL() << "it did not throw";
  } catch (refusal const& why) {
    EXPECT_EQ(why.status(), LULL_ERROR_EXCHANGE);
    EXPECT_STREQ(why.what(), "the exchange returned -7: no reserved groups were measured");
  }
}

/// A runtime of one block, with a trainer's stream.
std::string refusal_of(std::string const& folder, std::string const& name) {
  try {
    checkpoint_name const made{folder, name, if_taken::refuse};
  } catch (usage_error const& problem) {
    return problem.what();
  }
  return "none";
}

TEST(checkpoint_name, is_short_enough_for_a_file_with_an_ending) {
  test::test_folder const files;
  std::string const folder = files.at("saved");
  checkpoint_name const longest{folder, std::string(240, 'n'), if_taken::refuse};
  checkpoint_name const numbered{folder, longest.name(), if_taken::number};
  EXPECT_EQ(
      refusal_of(folder, std::string(241, 'n')),
      "the job's name '" + std::string(241, 'n') + "' has more than 240 bytes: its checkpoint is a file of that name");
}

TEST(checkpoint_name, says_why_its_folder_cannot_be_made) {
  EXPECT_EQ(refusal_of("/proc/self/status/saved", "mine"),
            "checkpoint folder /proc/self/status/saved cannot be made: Not a directory");
}

// Of a parent that has names in it, and of its mutex.
TEST(checkpoint_name, of_a_forked_child_is_not_in_its_parents_folder) {
  test::test_folder const files;
  std::string const folder = files.at("saved");
  std::optional<checkpoint_name> mine{std::in_place, folder, "mine", if_taken::refuse};
  test::value_pipe told;
  pid_t const child = test::forked([&] {
    told.write(refusal_of(folder, "yours").find("another process") != std::string::npos);
    told.write(refusal_of(files.at("other"), "mine") == "none");
    mine.reset();
    told.write(true);
  });
  EXPECT_TRUE(told.read<bool>());
  EXPECT_TRUE(told.read<bool>());
  EXPECT_TRUE(told.read<bool>());
  test::kill_child(child);
  EXPECT_EQ(refusal_of(folder, "yours"), "none");
}

class held : public testing::Test {
 protected:
  held() {
    lull_options const asked = on_threads();
    EXPECT_EQ(lull_create(&asked, &side_), LULL_OK) << lull_error_text();
    EXPECT_EQ(lull_threads_stream_create(&stream_), LULL_OK) << lull_error_text();
  }
  runtime_table::pin found() { return runtime_table::find(side_); }

  lull_runtime* side_ = nullptr;
  lull_threads_stream* stream_ = nullptr;
};

/// lull_submit keeps the runtime's mutex while it allocates and copies.
TEST_F(held, runtime_is_released_while_a_job_is_submitted) {
  ASSERT_EQ(lull_pause_all(side_, 10'000'000'000), LULL_OK) << lull_error_text();
  {
    std::unique_lock submits{found()->mutex};
    auto released = std::async(std::launch::async, [this] { return lull_resume_all(side_); });
    EXPECT_EQ(released.wait_for(2s), std::future_status::ready) << "it waits for the mutex";
    submits.unlock();
    EXPECT_EQ(released.get(), LULL_OK);
  }
  EXPECT_EQ(lull_resume_all(side_), LULL_ERROR_STATE);
  EXPECT_EQ(lull_destroy(side_), LULL_OK);
  EXPECT_EQ(lull_threads_stream_destroy(stream_), LULL_OK);
}

/// A block that does not leave costs the end of a runtime its patience once, not once more for the jobs.
TEST_F(held, runtime_with_a_block_that_stays_ends_in_time) {
  static std::atomic<bool> began{false};
  static std::atomic<bool> goes{false};
  {
    auto const side = found();
    auto job = std::make_unique<held_job>();
    job->side = side_;
    job->executor = &executor_of(*side->side);
    job->hosted =
        std::make_unique<hosted_job>(*job->executor, hosted_task{test::threads_job(held_task{&began, &goes})});
    job->hosted->submit([&](job_description what) { return side->side->submit(std::move(what)); });
    side->jobs.push_back(job_table::insert(std::move(job)));
  }
  for (int tries = 0; !began && tries < 10'000; ++tries) {
    lull_bubble bubble = 0;
    ASSERT_EQ(lull_open(side_, stream_, "receive", &bubble), LULL_OK) << lull_error_text();
    ASSERT_EQ(lull_threads_stream_sleep(stream_, 1'000'000), LULL_OK);
    ASSERT_EQ(lull_close(side_, bubble, stream_), LULL_OK) << lull_error_text();
    ASSERT_EQ(lull_threads_stream_synchronize(stream_), LULL_OK);
  }
  ASSERT_TRUE(began);
  auto const begin = std::chrono::steady_clock::now();
  EXPECT_EQ(lull_destroy(side_), LULL_OK) << lull_error_text();
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 8.0);
  goes = true;
  goes.notify_all();
  EXPECT_EQ(lull_threads_stream_destroy(stream_), LULL_OK);
}

/// An end that fails takes nothing with it.
TEST_F(held, jobs_go_on_where_a_call_stays_inside_one) {
  lull_job* jobs_of[2] = {};
  for (lull_job*& each : jobs_of)
    ASSERT_EQ(lull_submit(side_, "compute:items=16,rounds=1", nullptr, &each), LULL_OK) << lull_error_text();
  {
    auto const inside = job_table::find(jobs_of[1]);
    EXPECT_EQ(lull_destroy(side_), LULL_ERROR_STATE);
  }
  for (lull_job* const each : jobs_of) {
    lull_job_status now = {};
    now.size = sizeof now;
    EXPECT_EQ(lull_job_get_status(each, &now), LULL_OK) << lull_error_text();
  }
  EXPECT_EQ(lull_destroy(side_), LULL_OK) << lull_error_text();
  EXPECT_EQ(lull_threads_stream_destroy(stream_), LULL_OK);
}

/// Jobs that are over one after another take nothing for good, however each of them ended.
TEST(jobs, that_are_over_leave_the_machine_as_it_was) {
  lull_options asked = on_threads();
  asked.memory_limit_bytes = 64 << 20;
  lull_runtime* side = nullptr;
  lull_threads_stream* stream = nullptr;
  ASSERT_EQ(lull_create(&asked, &side), LULL_OK) << lull_error_text();
  ASSERT_EQ(lull_threads_stream_create(&stream), LULL_OK) << lull_error_text();
  auto const free_bytes = [&] { return executor_of(*runtime_table::find(side)->side).device_free_bytes(); };
  std::uint64_t settled = 0;
  for (int number = 0; number < 300; ++number) {
    lull_job* job = nullptr;
    ASSERT_EQ(lull_submit(side, "pagerank:kronecker=6,top=1", nullptr, &job), LULL_OK) << lull_error_text();
    if (number % 3 == 0) {
      EXPECT_EQ(lull_job_cancel(job), LULL_OK);
    }
    for (int tries = 0; lull_job_wait(job, 0) == LULL_TIMED_OUT && tries < 100'000; ++tries) {
      lull_bubble bubble = 0;
      ASSERT_EQ(lull_open(side, stream, "receive", &bubble), LULL_OK) << lull_error_text();
      ASSERT_EQ(lull_threads_stream_sleep(stream, 50'000), LULL_OK);
      ASSERT_EQ(lull_close(side, bubble, stream), LULL_OK) << lull_error_text();
      ASSERT_EQ(lull_threads_stream_synchronize(stream), LULL_OK);
    }
    char text[256];
    if (number % 3 == 1) {
      EXPECT_EQ(lull_job_result(job, text, sizeof text, nullptr), LULL_OK) << lull_error_text();
    }
    EXPECT_EQ(lull_job_destroy(job, 10'000'000'000), LULL_OK) << lull_error_text();
    if (number == 100) settled = free_bytes();
  }
  EXPECT_GE(free_bytes(), settled) << "more where the dispatcher had not let go of the job of then";
  EXPECT_GT(settled, 0U);
  EXPECT_EQ(lull_destroy(side), LULL_OK) << lull_error_text();
  EXPECT_EQ(lull_threads_stream_destroy(stream), LULL_OK);
}

}  // namespace
}  // namespace lull::c
