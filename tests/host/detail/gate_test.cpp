// SPDX-License-Identifier: Apache-2.0
// A gate from one owner to the next: what it forgets, when it may be taken back, and bubbles that were never closed.
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <lull/host/detail/dispatch/wait_limits.hpp>
#include <lull/tests/host/detail/gate_fixture.hpp>
#include <lull/tests/support/halt.hpp>

namespace lull::detail {
namespace {

using namespace std::chrono_literals;

TEST_F(gate_of_a_stream, forgets_the_sites_of_its_owner_before) {
  for (int i = 0; i < 8; ++i) bubble(runtime_mode::observe);
  ASSERT_EQ(open().what, counted::too_short);
  ASSERT_NE(gate_.longest().count(), 0);
  change_owner();
  EXPECT_EQ(gate_.longest().count(), 0);
  open_result const first = open();
  EXPECT_EQ(first.what, counted::opened) << "the site is another's, and new";
  close(first);
  trainer_.synchronize();
  collect();
}

TEST_F(gate_of_a_stream, forgets_how_slowly_the_workers_of_its_owner_before_left) {
  for (int i = 0; i < 16; ++i) {
    bubble(runtime_mode::on, [](bubble_record& of) {
      std::uint64_t const closed_ns = of.opened_ns + 2'000'000'000;
      of.not_saw_ns = ~closed_ns;
      of.last_out_ns = closed_ns + 1'000'000;
      of.blocks = 1;
    });
  }
  auto const closes = [&] {
    bubble_id const id = open();
    close(id, std::nullopt);
    trainer_.synchronize();
    collect();
    return seen_.take().back();
  };
  ASSERT_EQ(closes(), "close_edge and a wait");
  change_owner();
  EXPECT_EQ(closes(), "close_edge and 1000 ns") << "as where nothing is known";
}

TEST_F(gate_of_a_stream, takes_a_bubble_for_abandoned_when_it_is_older_than_the_lease) {
  ASSERT_EQ(open("first").what, counted::opened);
  EXPECT_EQ(open("second").what, counted::nested);
  gate_.note_lease(1ns);
  std::this_thread::sleep_for(1ms);
  open_result const second = open("second");
  EXPECT_EQ(second.what, counted::opened);
  EXPECT_EQ(seen_.take(), (calls{"open_edge", "close_edge", "open_edge"}));
  EXPECT_EQ(gate_.counts()[counted::abandoned], 1U);
  close(second);
  trainer_.synchronize();
  auto const asked = gate_.request();
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->bubble, 1U);
  EXPECT_FALSE(asked->wanted) << "its workers would meet the next bubble's kernels";
  collect();
}

/// Workers left by their lease, and the close came by then.
TEST_F(gate_of_a_stream, closes_the_bubble_of_that_id_alone) {
  bubble_id const first = open();
  close(first);
  bubble_id const second = open();
  seen_.take();
  close(first);  // late, or twice
  EXPECT_EQ(seen_.take(), calls{});
  close(second);
  EXPECT_EQ(seen_.take(), calls{"close_edge"});
  close(second);
  EXPECT_EQ(seen_.take(), calls{});
  EXPECT_EQ(gate_.counts()[counted::unmatched], 2U);
  trainer_.synchronize();
  collect();
}

TEST_F(gate_of_a_stream, lets_workers_that_come_at_the_opening_stay_longer_where_the_host_does_not_block) {
  auto const launched = [&] {
    bubble_id const id = open("wait", runtime_mode::on, launch_time::at_open);
    seen_.take();
    gate_.launch(id.bubble, start_when::at_once, arming::beside);
    auto const call = seen_.take();
    close(id);
    await_that([&] { return executor_.workers_done(); });
    trainer_.synchronize();
    collect();
    return call.front();
  };
  EXPECT_EQ(launched(), "launch  for 200 us");
  EXPECT_TRUE(within_time([&] { return launched() == "launch  for 400 us"; }))
      << "this computer may be busy now and then";
}

TEST_F(gate_of_a_stream, does_not_tell_of_a_bubble_before_it_is_closed) {
  bubble_id const id = open("wait", runtime_mode::on, launch_time::at_open);
  gate_.launch(id.bubble, start_when::at_once, arming::beside);
  trainer_.synchronize();
  await_that([&] { return executor_.workers_done(); });
  EXPECT_FALSE(has_collected()) << "its workers have left, and it is open";
  close(id);
  trainer_.synchronize();
  collect();
}

TEST_F(gate_of_a_stream, does_not_tell_of_a_bubble_that_gets_other_workers) {
  halt stands;
  trainer_.enqueue(stands.operation());
  bubble_id const id = open();
  close(id);
  gate_.launch(id.bubble, start_when::opened, arming::beside);
  gate_.release(id.bubble);  // they wait for too long
  await_that([&] { return executor_.workers_done(); });
  stands.let_go();
  trainer_.synchronize();
  EXPECT_FALSE(has_collected()) << "others come";
  auto const asked = gate_.request();
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->bubble, id.bubble);
  gate_.launch(id.bubble, start_when::at_once, arming::beside);
  EXPECT_FALSE(gate_.request()) << "once";
  await_that([&] { return executor_.workers_done(); });
  collect();
}

/// On a device the wait is on the workers' stream before the launch that fails.
TEST_F(gate_of_a_stream, lets_a_wait_go_whose_launch_has_failed) {
  halt stands;
  trainer_.enqueue(stands.operation());
  bubble_id const id = open();
  close(id);
  seen_.throws_in = "launch";
  EXPECT_THROW(gate_.launch(id.bubble, start_when::opened, arming::beside), device_error);
  seen_.throws_in.clear();
  gate_.release(id.bubble);
  EXPECT_EQ(gate_.counts()[counted::released], 1U);
  await_that([&] { return executor_.workers_done(); });
  stands.let_go();
  trainer_.synchronize();
  collect();
}

TEST_F(gate_of_a_stream, waits_for_nothing_once_the_limits_of_waits_are_gone) {
  halt stands;
  trainer_.enqueue(stands.operation());
  bubble_id const id = open();
  close(id);
  {
    wait_limits limits;
    limits.add(gate_, id.bubble, std::chrono::steady_clock::now() + 1h);
    gate_.launch(id.bubble, start_when::opened, arming::beside);
    EXPECT_EQ(gate_.counts()[counted::released], 0U);
  }
  EXPECT_EQ(gate_.counts()[counted::released], 1U);
  await_that([&] { return executor_.workers_done(); });
  stands.let_go();
  trainer_.synchronize();
  collect();
}

TEST_F(gate_of_a_stream, expects_openings_by_all_distances_between_and_by_what_was_learnt_last) {
  std::uint64_t opened_ns = 1'000'000'000;
  auto const bubble_after = [&](std::uint64_t distance) {
    bubble(runtime_mode::on, [&](bubble_record& of) { of.opened_ns = opened_ns += distance; });
  };
  for (std::uint64_t const distance : {5'000'000, 1'000'000, 3'000'000}) bubble_after(distance);  // the first has none
  bubble_id const before = open();
  close(before);
  trainer_.synchronize();  // its record is written
  halt stands;
  trainer_.enqueue(stands.operation());
  for (int i = 0; i < 3; ++i) close(open());
  gate_.pass(before.bubble);
  auto const expected_after = [&] { return gate_.request()->expected_ns.value_or(0) - gate_.opened_ns(); };
  for (int looks = 0; looks < 2; ++looks) EXPECT_EQ(expected_after(), 1'000'000U) << "of two the smaller";
  gate_ref const at = gate_.ref();
  at.records[before.bubble & at.record_mask].opened_ns = opened_ns += 3'000'000;
  await_that([&] { return !has_collected() && gate_.outstanding() == 3; });
  for (std::uint64_t bubbles = 1; bubbles <= 3; ++bubbles) {
    for (int looks = 0; looks < 2; ++looks) EXPECT_EQ(expected_after(), bubbles * 3'000'000);
    gate_.pass(gate_.request()->bubble);
  }
  stands.let_go();
  trainer_.synchronize();
  collect();
}

TEST_F(gate_of_a_stream, stays_its_while_a_bubble_is_not_collected) {
  auto const since = gate_.idle_since();
  ASSERT_TRUE(since);
  bubble_id const id = open();
  EXPECT_FALSE(gate_.idle_since());
  gate_.vacate(*since);
  EXPECT_EQ(gate_.stream_id(), trainer_.id());
  auto const left_open = gate_.left_open_since();
  ASSERT_TRUE(left_open);
  close(id);
  trainer_.synchronize();
  EXPECT_FALSE(gate_.idle_since());
  gate_.vacate(*left_open);
  EXPECT_EQ(gate_.stream_id(), trainer_.id());
  collect();
  gate_.vacate(*gate_.idle_since());
  EXPECT_EQ(gate_.stream_id(), 0U);
  EXPECT_FALSE(gate_.idle_since()) << "it is nobody's";
}

TEST_F(gate_of_a_stream, stays_its_where_it_has_opened_since_it_was_found_idle) {
  auto const since = gate_.idle_since();
  ASSERT_TRUE(since);
  bubble(runtime_mode::on);
  gate_.vacate(*since);
  EXPECT_EQ(gate_.stream_id(), trainer_.id()) << "all is collected, but it is not idle for as long";
}

TEST_F(gate_of_a_stream, stays_its_while_an_edge_is_being_enqueued) {
  auto const since = std::make_shared<std::optional<std::chrono::steady_clock::time_point>>();
  bool was_asked = false;
  seen_.in_open_edge = [&] {
    *since = gate_.idle_since();  // nothing is open yet
    ASSERT_TRUE(*since);
    auto asks = std::async(std::launch::async, [&] { gate_.vacate(**since); });
    was_asked = asks.wait_for(long_enough) == std::future_status::ready;
  };
  bubble_id const id = open();
  seen_.in_open_edge = {};
  EXPECT_TRUE(was_asked) << "the dispatcher waited for a trainer";
  EXPECT_EQ(gate_.stream_id(), trainer_.id());
  close(id);
  trainer_.synchronize();
  collect();
}

TEST_F(gate_of_a_stream, stays_its_until_the_stream_has_passed_the_last_edge) {
  halt stands;
  bubble_id const id = open();
  trainer_.enqueue(stands.operation());
  close(id);
  collect();  // it has opened, and has no worker
  auto const since = gate_.idle_since();
  ASSERT_TRUE(since);
  gate_.vacate(*since);
  EXPECT_EQ(gate_.stream_id(), trainer_.id()) << "the closing edge would close another's bubble";
  stands.let_go();
  trainer_.synchronize();
  gate_.vacate(*since);
  EXPECT_EQ(gate_.stream_id(), 0U);
}

TEST_F(gate_of_a_stream, is_in_use_while_a_bubble_is_open_and_for_a_second_after_the_last) {
  bubble_id const id = open();
  std::this_thread::sleep_for(1'100ms);
  EXPECT_TRUE(gate_.is_in_use()) << "it is open";
  ASSERT_TRUE(gate_.left_open_since());
  EXPECT_GE(std::chrono::steady_clock::now() - *gate_.left_open_since(), 1'100ms);
  close(id);
  EXPECT_FALSE(gate_.left_open_since());
  EXPECT_FALSE(gate_.is_in_use()) << "it was opened more than a second ago";
  trainer_.synchronize();
  collect();
  bubble(runtime_mode::on);
  EXPECT_TRUE(gate_.is_in_use());
  change_owner();
  EXPECT_TRUE(gate_.is_in_use()) << "a stream has just got it";
  auto const since = gate_.idle_since();
  ASSERT_TRUE(since);
  gate_.vacate(*since);
  EXPECT_FALSE(gate_.is_in_use()) << "it is nobody's";
}

/// Its stream may be gone: no other can close the bubble.
TEST_F(gate_of_a_stream, may_be_taken_back_while_its_last_bubble_is_open) {
  open();
  trainer_.synchronize();
  EXPECT_FALSE(gate_.idle_since());
  auto const since = gate_.left_open_since();
  ASSERT_TRUE(since);
  EXPECT_FALSE(has_collected());
  gate_.vacate(*since);
  EXPECT_EQ(gate_.stream_id(), 0U);
}

TEST_F(gate_of_a_stream, counts_as_used_when_it_is_taken) {
  auto const before = gate_.idle_since();
  ASSERT_TRUE(before);
  std::this_thread::sleep_for(1ms);
  change_owner();
  EXPECT_GT(gate_.idle_since(), before) << "it would be taken back at once";
}

TEST_F(gate_of_a_stream, opens_nothing_for_a_stream_that_it_was_taken_from) {
  std::uint64_t const before = trainer_.id();
  change_owner();
  auto const opened = gate_.open(&trainer_, before, site{"wait"}, runtime_mode::on, launch_time::at_close);
  EXPECT_EQ(opened.what, counted::no_gate);
  EXPECT_EQ(seen_.take(), calls{});
}

/// Any bubble is worth it that lasts longer than 0.4 ms.
class gate_of_costly_bubbles : public gate_of_a_stream {
 protected:
  gate_of_costly_bubbles() : gate_of_a_stream{{.min_bubble = {}, .training_worth = 30}} {}
};

/// They come far more often than one each millisecond.
TEST_F(gate_of_costly_bubbles, passes_over_bubbles_that_would_cost_more_than_a_hundredth_of_the_time) {
  auto const lasts = [](bubble_record& record) {
    std::uint64_t const closed_ns = record.opened_ns + 450'000;
    record.not_saw_ns = ~closed_ns;
    record.last_out_ns = closed_ns + 8'000;
    record.blocks = record.chunks = 1;
  };
  EXPECT_TRUE(within_time([&] {
    for (int i = 0; i < 100 && gate_.counts()[counted::too_short] == 0; ++i) {
      bubble_id const id = open();
      close(id);
      if (id.bubble == 0) continue;
      trainer_.synchronize();
      lasts(gate_.ref().records[id.bubble & gate_.ref().record_mask]);
      collect();
    }
    return gate_.counts()[counted::too_short] != 0;
  }));
  EXPECT_GT(gate_.counts()[counted::opened], 100U) << "not at once";
  change_owner();
  for (int i = 0; i < 12; ++i) {
    bubble_id const id = open();
    EXPECT_NE(id.bubble, 0U) << "another stream's bubbles have cost nothing yet";
    close(id);
    trainer_.synchronize();
    lasts(gate_.ref().records[id.bubble & gate_.ref().record_mask]);
    collect();
  }
}

}  // namespace
}  // namespace lull::detail
