// SPDX-License-Identifier: Apache-2.0
// A worker that rests before its bubble is expected to close, on real threads. It begins nothing, hands back its chunk,
// stays until the close, and continues if the close does not come.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <lull/host/threads/executor.hpp>
#include <lull/host/threads/worker.hpp>
#include <lull/tasks/synthetic.hpp>
#include <lull/tests/support/cursor_state.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t for_ever = ~std::uint32_t{0};  // four seconds
constexpr std::uint32_t second = 1'000'000'000;

class resting : public testing::TestWithParam<int> {
 protected:
  static constexpr std::uint64_t blocks = 3;

  /// Starts a worker in an open bubble. `polls`: in a chunk.
  void begin(rest_time rest, std::uint32_t polls = 0, site_words* site = nullptr) {
    probe_task task = arrays_.task();
    task.polls = polls;
    begin_with(task, rest, site);
  }
  template <class Task>
  void begin_with(Task const& task, rest_time rest, site_words* site = nullptr) {
    slot_.at = tagged_cursor{0, &cursor_.words}.word();
    slot_.lease_ns = lease_ns_;
    std::memcpy(slot_.functor.bytes, &task, sizeof task);
    worker_params params{&slot_, gate_.ref(), {}};
    params.bubble = 1;
    params.rest = rest;
    params.site = site;
    machine_.open_edge(trainer_, gate_.ref(), 1, 1, *mark_, false);
    worker_kernel const kernel = threads_worker<Task>();
    machine_.launch(kernel, machine_.load(kernel, 0), params, mark_.get(), start_when::opened);
  }
  template <class So>
  static void until(So so) {
    auto const give_up = std::chrono::steady_clock::now() + 60s;
    while (!so()) {
      ASSERT_LT(std::chrono::steady_clock::now(), give_up);
      std::this_thread::yield();
    }
  }
  std::uint64_t working() { return threads_world::load<order::relaxed, scope::device>(gate_.line.awaited.working); }
  /// How many chunks lie there to be claimed again.
  std::uint64_t handed_back() {
    return threads_world::load<order::relaxed, scope::device>(cursor_.words.ring.pushed) -
           threads_world::load<order::relaxed, scope::device>(cursor_.words.ring.popped);
  }
  void until_all_are_in() {
    until([this] { return working() == blocks; });
  }
  void until_all_are_out() {
    until([this] { return machine_.workers_left(*mark_); });
  }
  bubble_record const& close() {
    machine_.close_edge(trainer_, gate_.ref(), 2, *mark_, false, closing{});
    machine_.synchronize(trainer_);
    until_all_are_out();
    return gate_.record(1);
  }
  probe_arrays arrays_{{40, 1, 30}};
  float sink_ = 0;
  std::uint64_t lease_ns_ = 3'600'000'000'000;

 private:
  test_cursor cursor_{1, 64};
  threads_executor machine_{
      {.kind = executor_kind::threads, .processors = static_cast<int>(blocks), .team_width = GetParam()}};
  stream_handle const trainer_ = machine_.own_stream();
  std::unique_ptr<bubble_mark> const mark_ = machine_.make_mark();
  test_gate gate_;
  slot_line slot_{};
};

TEST_P(resting, nothing_is_begun_and_all_stay_until_the_close) {
  begin({0, for_ever});
  until_all_are_in();
  bubble_record const& told = close();
  EXPECT_EQ(told.chunks, 0U);
  EXPECT_EQ(told.lease_blocks + told.idle_blocks + told.late_blocks, 0U);
  EXPECT_NE(told.not_saw_ns, 0U);  // so the length of the bubble is known
}

TEST_P(resting, a_site_of_a_graph_says_when) {
  site_words site{0, {0, for_ever}};
  begin({}, 0, &site);
  until_all_are_in();
  EXPECT_EQ(close().chunks, 0U);
}

TEST_P(resting, a_bubble_that_is_longer_is_worked_in_again) {
  begin({0, 1});
  until_all_are_out();  // the task is finished
  bubble_record const& told = close();
  EXPECT_EQ(told.items, 71U);
  EXPECT_EQ(told.lease_blocks, 0U);
  EXPECT_STREQ(arrays_.wrong(), nullptr);
}

TEST_P(resting, chunks_that_poll_are_handed_back_and_nobody_leaves) {
  begin({second, for_ever}, ~std::uint32_t{0});
  until_all_are_in();
  until([this] { return handed_back() == blocks; });
  EXPECT_EQ(working(), blocks);
  bubble_record const& told = close();
  EXPECT_EQ(told.handed_back, blocks);  // once each, and at the close there is nothing in hand
  EXPECT_EQ(told.lease_blocks, 0U);
}

TEST_P(resting, chunks_that_end_are_followed_by_none) {
  begin_with(compute_task{&sink_, 1U << 30, 1, 100'000}, {second, for_ever});
  until_all_are_in();
  std::this_thread::sleep_for(1500ms);
  EXPECT_EQ(working(), blocks);
  bubble_record const& told = close();
  EXPECT_GT(told.chunks, 0U);
  EXPECT_EQ(told.lease_blocks, 0U);
}

TEST_P(resting, a_lease_that_ends_before_a_rest_does_is_kept) {
  lease_ns_ = second;
  begin({second / 2, for_ever}, ~std::uint32_t{0});
  until_all_are_out();
  bubble_record const& told = close();
  EXPECT_EQ(told.lease_blocks, blocks);
  EXPECT_GE(told.last_out_ns - told.opened_ns, second);
  EXPECT_LT(told.last_out_ns - told.opened_ns, 3ULL * second);
}

TEST_P(resting, a_lease_holds_behind_a_rest_too) {
  lease_ns_ = second;
  begin({1, 2}, ~std::uint32_t{0});
  until_all_are_out();
  bubble_record const& told = close();
  EXPECT_EQ(told.lease_blocks, blocks);
  EXPECT_GE(told.last_out_ns - told.opened_ns, second);
}

TEST_P(resting, without_it_all_is_done_at_once) {
  begin({for_ever, 0});
  until_all_are_out();
  EXPECT_EQ(close().items, 71U);
}

INSTANTIATE_TEST_SUITE_P(teams, resting, testing::Values(1, 2), [](auto const& each) {
  return each.param == 1 ? std::string{"of_one"} : "of_" + std::to_string(each.param);
});

}  // namespace
}  // namespace lull
