// SPDX-License-Identifier: Apache-2.0
// Which job has the one place that captured bubbles have, where another job could not run there.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tests/support/cursor_state.hpp>
#include <lull/tests/support/threads_job.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

/// Of another type than the probe, so no captured bubble has a worker for it.
struct plain_alone {
  static constexpr team_shape shape{.threads = 32};
  std::uint64_t extent(position at, std::uint64_t) const noexcept { return at.round < 4 ? 64 : finished; }
  void operator()(chunk, auto const&) const noexcept {}
};
static_assert(side_task<plain_alone>);

class captured_order : public testing::Test {
 protected:
  void SetUp() override {
    side_ = std::make_unique<runtime>(runtime_options{.executor = {.kind = executor_kind::threads, .processors = 2},
                                                      .tasks = {type_of<probe_task>()},
                                                      .log = [](std::string_view line) { ADD_FAILURE() << line; }});
    trainer_.begin_capture();
    one_bubble();
    graph_ = trainer_.end_capture();
  }
  void one_bubble() {
    bubble const idle{*side_, &trainer_, site{"wait"}};
    trainer_.enqueue([] { std::this_thread::sleep_for(200us); });
  }
  /// Submits a job like a graph's, which waits in captured bubbles.
  job submit_conducting(int priority) {
    job_description what = test::threads_job(plain_alone{});
    what.type.threads.conducts = true;
    what.priority = priority;
    return side_->submit(what);
  }
  static bool within_time(
      std::function<bool()> const& so, std::function<void()> const& meanwhile = [] {}) {
    auto const give_up = std::chrono::steady_clock::now() + long_enough;
    while (!so() && std::chrono::steady_clock::now() < give_up) {
      meanwhile();
      std::this_thread::sleep_for(1ms);
    }
    return so();
  }
  static bool stands(job const& of) { return of.progress().state == job_state::placed; }
  bool ends_in_replays(job const& of) {
    return within_time([&] { return of.wait(0ns); },
                       [&] {
                         trainer_.launch(graph_);
                         trainer_.synchronize();
                       });
  }

  threads_stream trainer_;
  std::unique_ptr<runtime> side_;
  threads_graph graph_;
};

TEST_F(captured_order, a_graphs_job_leaves_the_place_to_a_job_that_can_run) {
  for (int const priority : {0, 1}) {
    job const conducting = submit_conducting(priority);
    ASSERT_TRUE(within_time([&] { return stands(conducting); }));
    probe_arrays arrays{{300, 7, 100}};
    job const probe = side_->submit(arrays.task(), "probe");
    EXPECT_TRUE(ends_in_replays(probe)) << "priority " << priority;
    EXPECT_STREQ(arrays.wrong(), nullptr);
    ASSERT_TRUE(within_time([&] { return stands(conducting); }));
    EXPECT_TRUE(within_time([&] { return conducting.wait(0ns); },
                            [&] {
                              one_bubble();
                              trainer_.synchronize();
                            }));
    EXPECT_EQ(conducting.progress().state, job_state::finished);
  }
}

TEST_F(captured_order, a_graphs_job_of_higher_priority_does_not_take_the_place_back) {
  job const conducting = submit_conducting(1);
  probe_arrays arrays{{300, 7, 100}};
  probe_task endless = arrays.task();
  endless.polls = ~std::uint32_t{0};
  job probe = side_->submit(endless, "endless");
  auto const both_stand = [&] { return stands(probe) && stands(conducting); };
  ASSERT_TRUE(within_time([&] { return both_stand() && probe.progress().phases != 0; },
                          [&] {
                            trainer_.launch(graph_);
                            trainer_.synchronize();
                          }));
  for (int look = 0; look < 200; ++look) {
    std::this_thread::sleep_for(1ms);
    ASSERT_TRUE(both_stand()) << "look " << look;
  }
  probe.cancel();
  ASSERT_TRUE(probe.wait(long_enough));
}

TEST_F(captured_order, beside_plain_bubbles_the_first_that_was_submitted_stays_first) {
  job const conducting = submit_conducting(0);
  ASSERT_TRUE(within_time([&] { return stands(conducting); }));
  probe_arrays arrays{{300, 7, 100}};
  job const probe = side_->submit(arrays.task(), "probe");
  EXPECT_TRUE(within_time([&] { return conducting.wait(0ns) && probe.wait(0ns); },
                          [&] {
                            trainer_.launch(graph_);
                            one_bubble();
                            trainer_.synchronize();
                          }));
  EXPECT_STREQ(arrays.wrong(), nullptr);
}

}  // namespace
}  // namespace lull
