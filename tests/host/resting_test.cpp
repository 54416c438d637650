// SPDX-License-Identifier: Apache-2.0
// When workers must rest, by what the runtime has seen of their site's bubbles.
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <lull/device/threads_world.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tests/host/runtime_recorded.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
constexpr auto length = 20ms;  // a CPU's bubbles are not alike to some microseconds
constexpr int many = 1'000;

class runtime_rests : public runtime_recorded {
 protected:
  void make_with(std::chrono::nanoseconds rest_before_close) {
    runtime_options with = options();
    with.tuning.rest_before_close = rest_before_close;
    with.tasks = {type_of<probe_task>()};
    side_ = make(std::move(with));
    job_ = submit(*side_, "slow");  // that stores chunks in each bubble: else its site would be passed over
    await(job_, job_state::placed);
  }
  void step() {
    bubble const idle{*side_, &trainer, site{"wait"}};
    trainer.enqueue([] { std::this_thread::sleep_for(length); });
  }
  /// Runs bubbles until workers receive the usual length.
  template <class So>
  bool step_until(So so) {
    for (int i = 0; i < many; ++i) {
      if (so()) return true;
      step();
      trainer.synchronize();
    }
    return false;
  }

  std::unique_ptr<runtime> side_;
  job job_;
};

TEST_F(runtime_rests, before_bubbles_that_repeat_usually_close) {
  make_with(10us);
  ASSERT_TRUE(step_until([&] { return seen.rest().until_ns != 0; }));
  usual_length const usual = seen.usual();
  EXPECT_EQ(seen.rest().from_ns, usual.from_ns - 10'000);
  EXPECT_EQ(seen.rest().until_ns, usual.until_ns + 20'000);
}

TEST_F(runtime_rests, never_where_that_is_asked_for) {
  make_with(0us);
  ASSERT_TRUE(step_until([&] { return seen.usual().until_ns != 0; }));
  EXPECT_EQ(seen.rest().until_ns, 0U);
}

TEST_F(runtime_rests, never_in_jobs_that_are_graphs) {
  runtime_options with = options();
  with.tuning.armed_ahead = {};
  side_ = make(std::move(with));
  job_description conducting = description("a graph");
  conducting.type.threads.conducts = true;
  job_ = side_->submit(conducting);
  await(job_, job_state::placed);
  ASSERT_TRUE(step_until([&] { return seen.usual().until_ns != 0; }));
  EXPECT_EQ(seen.rest().until_ns, 0U);
}

TEST_F(runtime_rests, in_replayed_bubbles_too) {
  make_with(10us);
  trainer.begin_capture();
  step();
  threads_graph const graph = trainer.end_capture();
  site_words* const words = seen.site;
  ASSERT_NE(words, nullptr);
  std::uint32_t until_ns = 0;
  for (int i = 0; i < many && until_ns == 0; ++i) {
    trainer.launch(graph);
    trainer.synchronize();
    until_ns = threads_world::load<order::relaxed, scope::device>(words->rest.until_ns);
  }
  EXPECT_GE(until_ns, std::uint32_t{length / 1ns});
}

}  // namespace
}  // namespace lull
