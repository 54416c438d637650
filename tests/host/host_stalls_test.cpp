// SPDX-License-Identifier: Apache-2.0
// Bubbles in which the trainer's host itself stays: it waits for data, or for whatever works on the device.
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/runtime.hpp>
#include <lull/tasks/synthetic.hpp>
#include <lull/tests/host/runtime_recorded.hpp>
#include <lull/tests/support/probe_task.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class host_stalls : public runtime_recorded {
 protected:
  void SetUp() override { start(runtime_mode::on); }
  void start(runtime_mode mode) {
    side_ = make(options(mode));
    job_ = side_->submit(compute_task{&sink_, 1U << 30, 1U << 30, 10}, "endless");
    if (mode == runtime_mode::on) await(job_, job_state::placed);
  }
  /// Returns the report of a bubble in which the host does something.
  bubble_report stall(std::function<void()> const& inside, char const* where = "data") {
    bubble_id const id = side_->open(&trainer, site{where});
    EXPECT_NE(id.bubble, 0U);
    inside();
    side_->close(id, &trainer);
    std::vector<bubble_report> told;
    await_that([&] {
      for (bubble_report& each : side_->take_bubbles()) told.push_back(std::move(each));
      return !told.empty();
    });
    return told.back();
  }
  std::uint64_t launches() const { return side_->counts()[counted::launches]; }
  /// Returns how many workers a stall gets.
  std::uint64_t launches_in(std::function<void()> const& inside) {
    std::uint64_t const before = launches();
    stall(inside);
    return launches() - before;
  }

  float sink_ = 0;
  std::unique_ptr<runtime> side_;
  job job_;
};

void sleep() { std::this_thread::sleep_for(60ms); }

TEST_F(host_stalls, get_one_worker_after_another) {
  stall(sleep);  // the first ones at a site are looked at
  EXPECT_TRUE(within_time([&] { return launches_in(sleep) >= 6; }));
}

TEST_F(host_stalls, on_two_streams_at_once_get_workers_each) {
  threads_stream other;
  auto const stalls_of = [&](threads_stream& stream, char const* where) {
    for (int i = 0; i < 10; ++i) {
      bubble const idle{*side_, &stream, site{where}};
      sleep();
    }
  };
  std::thread second{[&] { stalls_of(other, "checkpoint"); }};
  stalls_of(trainer, "data");
  second.join();
  std::map<std::string, std::uint64_t> with_work;
  await_that([&] {
    for (bubble_report const& told : side_->take_bubbles()) with_work[told.site] += told.record().blocks != 0 ? 1 : 0;
    return with_work["data"] >= 3 && with_work["checkpoint"] >= 3;
  });
}

TEST_F(host_stalls, have_a_length_also_where_no_worker_saw_the_close) {
  for (int i = 0; i < 12; ++i) {
    bubble_report const told = stall(sleep);
    EXPECT_GE(told.length, 50ms);
    EXPECT_LT(told.length, 10s);
  }
}

TEST_F(host_stalls, are_work_of_which_reports_tell_once) {
  for (int i = 0; i < 12; ++i) {
    bubble_report const told = stall(sleep);
    std::chrono::duration<double, std::nano> const stayed{per_launched_block(told, &bubble_record::stay_ns)};
    std::chrono::duration<double, std::nano> const came{per_launched_block(told, &bubble_record::in_ns)};
    EXPECT_LE(stayed + came, 1.05 * told.length + 5ms);
  }
}

TEST_F(host_stalls, of_a_host_that_waits_for_the_workers_get_none_after_some_bubbles) {
  auto const waits = [&] {
    std::this_thread::sleep_for(30ms);  // workers come meanwhile
    std::uint64_t const before = launches();
    await_that([&] { return executor_of(*side_).workers_done() || launches() != before; });
  };
  EXPECT_TRUE(within_time([&] {
    int without = 0;  // but one that comes after the close
    while (without < 20 && launches_in(waits) <= 1) ++without;
    return without == 20;
  }));
}

TEST_F(host_stalls, without_work_are_looked_at_now_and_then) {
  job_.cancel();
  ASSERT_TRUE(job_.wait(10s));
  probe_arrays arrays{std::vector<std::uint64_t>{16, 16}};
  probe_task starving = arrays.task();
  starving.feeds = 1;  // its second phase never gets input
  job_ = side_->submit(starving, "starving");
  await(job_, job_state::placed);
  for (int i = 0; i < 8; ++i) EXPECT_LE(launches_in([] { std::this_thread::sleep_for(100ms); }), 110U);
  job_.cancel();
  EXPECT_TRUE(job_.wait(10s));
}

TEST_F(host_stalls, are_timed_where_the_runtime_observes) {
  side_.reset();
  start(runtime_mode::observe);
  bubble_report const told = stall(sleep);
  EXPECT_GE(told.length, 50ms);
  EXPECT_EQ(launches(), 0U);
}

TEST_F(host_stalls, end_with_the_job) {
  for (int i = 0; i < 9; ++i) stall(sleep);
  stall([&] {
    std::this_thread::sleep_for(30ms);
    job_.cancel();
    EXPECT_TRUE(job_.wait(10s)) << "the host is still inside";
  });
}

TEST_F(host_stalls, end_with_the_runtime) {
  for (int i = 0; i < 9; ++i) stall(sleep);
  side_->open(&trainer, site{"data"});
  std::this_thread::sleep_for(30ms);
  side_.reset();  // with the bubble open
}

TEST_F(host_stalls, let_a_program_pause_all_jobs_inside) {
  for (int i = 0; i < 9; ++i) stall(sleep);
  stall([&] {
    std::this_thread::sleep_for(30ms);
    EXPECT_TRUE(side_->pause_all(10s));
    std::uint64_t const before = launches();
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(launches(), before);
    side_->resume_all();
  });
}

}  // namespace
}  // namespace lull
