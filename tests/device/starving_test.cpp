// SPDX-License-Identifier: Apache-2.0
// A task without input, on real threads: which block asks for it, and when it is asked again.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include <lull/host/threads/executor.hpp>
#include <lull/host/threads/worker.hpp>
#include <lull/tests/support/cursor_state.hpp>
#include <lull/tests/support/fed_task.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

class starving : public testing::Test {
 protected:
  starving() : cursor_(1, 64) {
    fed_task const task{&asked_, &runs_};
    slot_.at = tagged_cursor{0, &cursor_.words}.word();
    slot_.lease_ns = 3'600'000'000'000;
    std::memcpy(slot_.functor.bytes, &task, sizeof task);
  }

  void open() { machine_.open_edge(trainer_, gate_.ref(), ++value_, ++bubble_, *mark_, false); }
  void close() {
    machine_.close_edge(trainer_, gate_.ref(), ++value_, *mark_, false, closing{});
    machine_.synchronize(trainer_);
  }
  /// Runs a worker of three blocks; they leave because there is no input.
  void work() {
    params_.bubble = bubble_;
    worker_kernel const kernel = threads_worker<fed_task>();
    machine_.launch(kernel, machine_.load(kernel, 0), params_, mark_.get(), start_when::opened);
    await_that([&] { return machine_.workers_left(*mark_); });
    EXPECT_EQ(cursor_.state(), phase_state::starved);
  }
  void feed(std::uint64_t rounds) { threads_world::store<order::release, scope::system>(cursor_.words.fed, rounds); }

  std::uint64_t asked_ = 0;
  std::uint64_t runs_ = 0;

 private:
  test_cursor cursor_;
  threads_executor machine_{{.kind = executor_kind::threads, .processors = 3, .team_width = 1}};
  stream_handle const trainer_ = machine_.own_stream();
  std::unique_ptr<bubble_mark> const mark_ = machine_.make_mark();
  test_gate gate_;
  slot_line slot_{};
  worker_params params_{&slot_, gate_.ref(), {}};
  std::uint32_t value_ = 0;
  std::uint64_t bubble_ = 0;
};

TEST_F(starving, one_block_asks_for_all_of_a_bubble) {
  for (std::uint64_t bubbles = 1; bubbles <= 200; ++bubbles) {
    open();
    work();
    close();
    ASSERT_EQ(asked_, bubbles);
  }
  EXPECT_EQ(runs_, 0U);
}

TEST_F(starving, input_that_comes_in_a_bubble_waits_for_the_next) {
  for (std::uint64_t round = 1; round <= 200; ++round) {
    open();
    work();
    ASSERT_EQ(runs_, round - 1);  // what was fed in the bubble before
    std::uint64_t const asked = asked_;
    feed(round);
    work();  // a second worker in the same bubble
    close();
    ASSERT_EQ(runs_, round - 1);
    ASSERT_EQ(asked_, asked);
  }
}

TEST_F(starving, input_that_is_there_at_the_opening_is_worked_off) {
  feed(100);
  open();
  work();
  close();
  EXPECT_EQ(runs_, 100U);
  EXPECT_EQ(asked_, 101U);
}

}  // namespace
}  // namespace lull
