// SPDX-License-Identifier: Apache-2.0
// A runtime can be destroyed in every state: the destructor returns, every job is over, and nothing touches the job's
// arrays afterwards, which the sanitizers see.
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tests/host/runtime_recorded.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class runtime_destroyed : public runtime_recorded, public testing::WithParamInterface<launch_time> {
 protected:
  std::unique_ptr<runtime> side_ = make(options(runtime_mode::on, GetParam()));
  void destroy_and_expect_cancelled(std::vector<job> const& jobs) {
    side_.reset();
    for (job const& each : jobs) EXPECT_EQ(each.progress().state, job_state::cancelled);
  }
};

TEST_P(runtime_destroyed, with_nothing_submitted) { side_.reset(); }

TEST_P(runtime_destroyed, right_behind_a_submit) { destroy_and_expect_cancelled({submit(*side_, "a")}); }

TEST_P(runtime_destroyed, with_jobs_placed_and_queued) {
  std::vector<job> jobs;
  for (char const* name : {"a", "b", "c"}) jobs.push_back(submit(*side_, name));
  await(jobs[0], job_state::placed);
  await(jobs[1], job_state::placed);
  EXPECT_EQ(jobs[2].progress().state, job_state::queued);
  one_bubble(*side_);
  destroy_and_expect_cancelled(jobs);
}

TEST_P(runtime_destroyed, with_a_paused_job) {
  job task = submit(*side_, "a");
  await(task, job_state::placed);
  one_bubble(*side_);
  task.pause();
  await(task, job_state::paused);
  destroy_and_expect_cancelled({task});
}

TEST_P(runtime_destroyed, inside_an_open_bubble) {
  job const task = submit(*side_, "a");
  await(task, job_state::placed);
  side_->open(&trainer, site{"wait"});
  destroy_and_expect_cancelled({task});
}

TEST_P(runtime_destroyed, inside_an_open_bubble_where_copied_lines_tell_what_has_passed) {
  job const task = submit(*side_, "a");
  await(task, job_state::placed);
  side_->open(&trainer, site{"wait"});
  trainer.synchronize();
  seen.kind = executor_kind::cuda;
  side_.reset();
  for (std::string const& line : log()) EXPECT_EQ(line.find("does not free its memory"), std::string::npos) << line;
}

TEST_P(runtime_destroyed, behind_a_cancel) {
  job task = submit(*side_, "a");
  await(task, job_state::placed);
  one_bubble(*side_);
  task.cancel();
  destroy_and_expect_cancelled({task});
}

TEST_P(runtime_destroyed, while_the_trainers_stream_is_still_on_its_way) {
  job const task = submit(*side_, "a");
  await(task, job_state::placed);
  trainer.enqueue([] { std::this_thread::sleep_for(20ms); });
  one_bubble(*side_);
  destroy_and_expect_cancelled({task});
}

TEST_P(runtime_destroyed, while_a_close_that_waits_is_still_on_its_way) {
  seen.close_comes_late = 20ms;
  side_ = make(options(runtime_mode::on, GetParam(), closing{.waits = true}));
  job const task = submit(*side_, "a");
  await(task, job_state::placed);
  one_bubble(*side_);
  destroy_and_expect_cancelled({task});
  trainer.synchronize();
}

INSTANTIATE_TEST_SUITE_P(launched, runtime_destroyed, testing::Values(launch_time::at_close, launch_time::at_open),
                         [](auto const& info) { return info.param == launch_time::at_close ? "at_close" : "at_open"; });

}  // namespace
}  // namespace lull
