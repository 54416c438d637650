// SPDX-License-Identifier: Apache-2.0
// A trainer's gate that tells its bubbles, and the gate of another process that follows it. Both are in this one.
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/attach/shared_bubbles.hpp>
#include <lull/host/detail/gate/gate.hpp>
#include <lull/tests/host/recording_executor.hpp>
#include <lull/tests/support/halt.hpp>
#include <lull/tests/support/probe_task.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull::detail {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t worker = 7;

class two_gates : public testing::Test {
 protected:
  two_gates() {
    from_.take(trainer_.id());
    to_.take(1);
    to_.note_lease(1h);
    from_.note_lease(1h);
    told_->give_turn(worker);
    to_.arm(0, {threads_worker<probe_task>(), machine_.load(threads_worker<probe_task>(), 0), {&slot_, {}}});
  }
  ~two_gates() override { trainer_.synchronize(); }

  gate_words words(attach::shared_bubbles* shared) {
    attach::shared_gate& at = told_->page().gates[0];
    return {&at.line, &at.opening, &at.opening, shared, told_};
  }
  open_result open(char const* where = "wait") {
    return from_.open(&trainer_, from_.stream_id(), site{where}, runtime_mode::on, launch_time::at_close);
  }
  void close(bubble_id id) {
    from_.close(id, &trainer_, {.is = stream_found::plain, .id = from_.stream_id()}, closing{});
  }
  bubble_id bubble(char const* where = "wait") {
    bubble_id const id = open(where);
    close(id);
    return id;
  }
  std::optional<attach::announced_bubble> told(std::uint64_t bubble) {
    return attach::read(told_->page().gates[0], bubble);
  }
  bool follow(std::uint64_t bubble, bool may_work = true) {
    auto const found = told(bubble);
    if (!found) return false;
    bool const taken = to_.follow(*found, attach::site_name(told_->page(), found->site), may_work);
    if (taken && found->left) to_.follow_close(bubble, *found->left);
    return taken;
  }
  static void collect(gate& of, std::deque<bubble_report>& into, executor& machine) {
    auto const lane = machine.make_copy_lane();
    device_clock clock;
    await_that([&] {
      while (auto const asked = of.request()) of.pass(asked->bubble);
      if (of.begin_collecting(*lane, false)) {
        await_that([&] { return lane->done(); });
        of.collect({into, clock});
      }
      return of.outstanding() == 0;
    });
  }
  void collect_both() {
    trainer_.synchronize();
    collect(from_, reports_, trains_);
    collect(to_, reports_, machine_);
  }

  record seen_;
  recording_executor trains_{seen_};
  record seen_by_worker_;
  recording_executor machine_{seen_by_worker_};
  threads_stream trainer_;
  std::shared_ptr<attach::shared_bubbles> const told_ = std::make_shared<attach::shared_bubbles>();
  gate_words const of_trainer_ = words(told_.get());
  gate_words const of_worker_ = words(nullptr);
  site_limits const limits_{.min_bubble = 0ns};
  gate from_{trains_, 0, 0, limits_, &of_trainer_};
  gate to_{machine_, 0, 0, limits_, &of_worker_};
  slot_line slot_{};
  std::deque<bubble_report> reports_;
};

TEST_F(two_gates, wait_for_no_word_that_other_processes_map) {
  auto const* const page = reinterpret_cast<char const*>(&told_->page());
  for (gate const* each : {&from_, &to_}) {
    auto const* const awaited = reinterpret_cast<char const*>(each->ref().awaited);
    EXPECT_TRUE(awaited < page || awaited >= page + sizeof(attach::shared_page));
  }
}

TEST_F(two_gates, a_bubble_is_told_when_its_edge_is_enqueued) {
  halt ahead;
  trainer_.enqueue(ahead.operation());
  bubble_id const id = open("first");
  auto const opened = told(id.bubble);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->worker, worker);
  EXPECT_EQ(opened->value, 1U);
  EXPECT_EQ(attach::site_name(told_->page(), opened->site), "first");
  EXPECT_FALSE(opened->left);
  close(id);
  EXPECT_TRUE(told(id.bubble)->left);
  ahead.let_go();
  collect_both();
}

TEST_F(two_gates, the_follower_launches_with_the_trainers_numbers) {
  halt ahead;
  trainer_.enqueue(ahead.operation());
  for (int i = 0; i < 3; ++i) bubble();
  EXPECT_TRUE(follow(1) && follow(2) && follow(3));
  for (std::uint64_t bubble = 1; bubble <= 3; ++bubble) {
    auto const asked = to_.request();
    ASSERT_TRUE(asked);
    EXPECT_EQ(asked->bubble, bubble);
    EXPECT_TRUE(asked->wanted);
    EXPECT_FALSE(asked->opened);
    EXPECT_FALSE(asked->inside);
    to_.pass(bubble);
  }
  ahead.let_go();
  collect_both();
  EXPECT_EQ(to_.counts()[counted::opened], 3U);
  EXPECT_EQ(seen_by_worker_.take(), calls{}) << "its edges are the trainer's";
}

TEST_F(two_gates, a_bubble_that_is_anothers_gets_no_worker) {
  halt ahead;
  trainer_.enqueue(ahead.operation());
  bubble();
  EXPECT_TRUE(follow(1, false));
  auto const asked = to_.request();
  ASSERT_TRUE(asked);
  EXPECT_FALSE(asked->wanted);
  ahead.let_go();
  collect_both();
  EXPECT_EQ(to_.counts()[counted::opened], 0U);
}

TEST_F(two_gates, a_bubble_is_followed_once) {
  bubble();
  EXPECT_TRUE(follow(1));
  EXPECT_TRUE(follow(1));
  EXPECT_EQ(to_.outstanding(), 1U);
  collect_both();
}

TEST_F(two_gates, a_follower_that_missed_bubbles_goes_on_when_its_own_are_collected) {
  bubble();
  EXPECT_TRUE(follow(1));
  for (int i = 0; i < 9; ++i) bubble();
  EXPECT_FALSE(follow(10)) << "the first is not collected";
  collect_both();
  EXPECT_TRUE(follow(10));
  collect_both();
  bubble();
  EXPECT_TRUE(follow(11));
  collect_both();
}

TEST_F(two_gates, nothing_is_expected_of_a_stream_that_is_where_nothing_is_known) {
  for (int i = 0; i < 4; ++i) bubble();
  collect_both();
  EXPECT_TRUE(follow(4));
  collect_both();
  halt ahead;
  trainer_.enqueue(ahead.operation());
  for (int i = 0; i < 6; ++i) bubble();
  EXPECT_TRUE(follow(9)) << "the stream is at the fourth";
  auto const asked = to_.request();
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->bubble, 9U);
  EXPECT_FALSE(asked->expected_ns);
  ahead.let_go();
  collect_both();
}

TEST_F(two_gates, a_bubble_that_the_trainer_never_closed_is_told_closed_with_the_next) {
  open("cut");
  bubble("cut");
  EXPECT_TRUE(told(1)->left);
  EXPECT_TRUE(follow(1) && follow(2));
  collect_both();
}

TEST_F(two_gates, a_close_that_was_not_seen_is_noted_with_the_next_bubble) {
  bubble_id const first = open();
  EXPECT_TRUE(follow(1));
  close(first);
  bubble();
  EXPECT_TRUE(follow(2));
  trainer_.synchronize();
  collect(from_, reports_, trains_);
  std::deque<bubble_report> of_worker;
  collect(to_, of_worker, machine_);
  ASSERT_EQ(of_worker.size(), 2U);
  for (bubble_report const& each : of_worker) EXPECT_TRUE(each.host_ahead) << "it counts as never closed";
}

TEST_F(two_gates, the_trainer_measures_some_bubbles_by_its_edges) {
  for (int i = 0; i < 200; ++i) {
    bubble();
    if (i % 100 == 99) collect_both();
  }
  auto const made = seen_.take();
  auto const timed = std::count(made.begin(), made.end(), "open_edge timed");
  EXPECT_GE(timed, 8 + 200 / static_cast<int>(history::measure_every) / 2);
  EXPECT_LE(timed, 150);
  EXPECT_NE(from_.longest().count(), 0);
}

TEST_F(two_gates, short_bubbles_are_passed_over_by_the_trainers_own_measure) {
  gate choosy{trains_, 1, 0, {.min_bubble = 1s}, &of_trainer_};
  choosy.take(trainer_.id());
  for (int i = 0; i < 9; ++i) {
    open_result const made =
        choosy.open(&trainer_, choosy.stream_id(), site{"short"}, runtime_mode::on, launch_time::at_close);
    EXPECT_EQ(made.what, i < 8 ? counted::opened : counted::too_short);
    if (made.bubble != 0) choosy.close(made, &trainer_, {.is = stream_found::plain, .id = choosy.stream_id()}, {});
    trainer_.synchronize();
    collect(choosy, reports_, trains_);
  }
}

TEST_F(two_gates, a_bubble_whose_opening_was_not_seen_has_no_length) {
  bubble();
  EXPECT_TRUE(follow(1));
  gate_ref const at = to_.ref();
  bubble_record& late = at.records[1 & at.record_mask];  // its blocks came when the next one was open
  late.not_saw_ns = ~std::uint64_t{1'000'000'000'000};
  late.last_out_ns = 1'000'000'001'000;
  late.blocks = 1;
  reports_.clear();
  collect_both();
  EXPECT_EQ(to_.longest(), 0ns);
  for (bubble_report const& each : reports_) EXPECT_LT(each.length, 10s);
  EXPECT_EQ(time_at_work(reports_.back().record()), 0ns);
}

TEST_F(two_gates, without_a_turn_the_trainer_enqueues_nothing) {
  told_->give_turn(0);
  EXPECT_EQ(open().what, counted::no_job);
  EXPECT_EQ(seen_.take(), calls{});
  EXPECT_FALSE(told(1));
}

TEST_F(two_gates, the_next_trainer_is_followed_from_its_first_bubble) {
  for (int i = 0; i < 3; ++i) bubble();
  EXPECT_TRUE(follow(3));
  collect_both();
  auto const next = std::make_shared<attach::shared_bubbles>();
  attach::shared_gate& at = next->page().gates[0];
  gate_words const theirs{&at.line, &at.opening, &at.opening, next.get(), next};
  gate_words const ours{&at.line, &at.opening, &at.opening, nullptr, next};
  gate second{trains_, 0, 0, limits_, &theirs};
  second.take(trainer_.id());
  next->give_turn(worker);
  to_.follow_another(ours);
  EXPECT_FALSE(to_.is_taken());
  to_.take(1);
  bubble_id const first = second.open(&trainer_, second.stream_id(), site{"wait"}, runtime_mode::on, {});
  second.close(first, &trainer_, {.is = stream_found::plain, .id = second.stream_id()}, {});
  auto const found = attach::read(at, 1);
  ASSERT_TRUE(found);
  EXPECT_TRUE(to_.follow(*found, "wait", true));
  EXPECT_TRUE(to_.follow_close(1, *found->left));
  trainer_.synchronize();
  collect(second, reports_, trains_);
  collect(to_, reports_, machine_);
}

}  // namespace
}  // namespace lull::detail
