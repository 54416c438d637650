// SPDX-License-Identifier: Apache-2.0
// When workers are enqueued, on gates of a machine that records what it is asked. The trainer's streams stop until a
// test lets them continue, so nothing here depends on time.
#include <chrono>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/detail/dispatch/launcher.hpp>
#include <lull/host/detail/gate/gate.hpp>
#include <lull/tests/host/recording_executor.hpp>
#include <lull/tests/support/probe_task.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull::detail {
namespace {

using namespace std::chrono_literals;

/// A trainer's stream that waits at each point where a test says so.
class held_stream {
 public:
  ~held_stream() { go(1'000); }
  void arm() {
    stream_.enqueue([this, until = ++waits_] { EXPECT_TRUE(within_time([&] { return allowed_.load() >= until; })); });
  }
  void go(int more = 1) { allowed_ += more; }
  threads_stream* get() noexcept { return &stream_; }

 private:
  int waits_ = 0;
  std::atomic<int> allowed_{0};
  threads_stream stream_;
};

class launching : public testing::Test {
 protected:
  explicit launching(int streams = 2) {
    for (int g = 0; g < streams; ++g) {
      streams_.push_back(std::make_unique<held_stream>());
      gates_.push_back(std::make_unique<gate>(executor_, static_cast<std::uint32_t>(g), 0, site_limits{}));
      gates_.back()->take(streams_.back()->get()->id());
      gates_.back()->note_lease(2s);
      gates_.back()->arm(0,
                         {threads_worker<probe_task>(), executor_.load(threads_worker<probe_task>(), 0), {&slot_, {}}});
    }
  }
  ~launching() override {
    for (auto& each : streams_) each->go(1'000);
    for (auto& each : streams_) each->get()->synchronize();
    if (launcher_) launcher_->stop();
    EXPECT_TRUE(within_time([&] { return executor_.workers_done(); }));
  }
  void start(launch_policy policy) { launcher_.emplace(gates_, policy); }

  /// Enqueues a bubble's edges; before it and inside it the stream waits for the test.
  void bubble(int at, runtime_mode mode = runtime_mode::on) {
    held_stream& stream = *streams_[static_cast<std::size_t>(at)];
    gate& of = gate_of(at);
    stream.arm();
    bubble_id const id = of.open(stream.get(), stream.get()->id(), site{"wait"}, mode, launch_time::at_close);
    stream.arm();
    of.close(id, stream.get(), {.is = stream_found::plain, .id = stream.get()->id()}, closing{});
    seen_.take();
  }
  gate& gate_of(int at) { return *gates_[static_cast<std::size_t>(at)]; }
  void opens(int at) {
    std::uint32_t const before = gate_of(at).numbers().opened;
    streams_[static_cast<std::size_t>(at)]->go();
    await_that([&] { return gate_of(at).numbers().opened != before; });
  }
  void closes(int at) { streams_[static_cast<std::size_t>(at)]->go(); }
  /// Ticks, and returns what the tick asked for.
  calls tick() {
    next_ = launcher_->tick();
    return seen_.take();
  }
  void await_workers() {
    await_that([&] { return executor_.workers_done(); });
  }

  record seen_;
  recording_executor executor_{seen_};
  slot_line slot_{};  // empty: workers leave at once
  std::vector<std::unique_ptr<held_stream>> streams_;
  std::vector<std::unique_ptr<gate>> gates_;
  std::optional<launcher> launcher_;
  launcher::time_point next_{};
};

calls const a_launch{"launch "};

class launching_on_one_stream : public launching {
 protected:
  launching_on_one_stream() : launching(1) {}
  /// Runs bubbles that are harvested and learnt from, `apart` from each other.
  void train(int bubbles, std::chrono::milliseconds apart, runtime_mode mode = runtime_mode::on) {
    std::deque<bubble_report> reports;
    auto const lane = executor_.make_copy_lane();
    for (int i = 0; i < bubbles; ++i) {
      bubble(0, mode);
      tick();
      std::this_thread::sleep_for(apart);
      opens(0);
      tick();
      if (mode == runtime_mode::observe) std::this_thread::sleep_for(20ms);  // the observed length
      closes(0);
      await_workers();
      await_that([&] {
        if (gate_of(0).outstanding() == 0) return true;
        if (!gate_of(0).begin_collecting(*lane, false)) return false;
        await_that([&] { return lane->done(); });
        gate_of(0).collect({reports, launcher_->clock()});
        return gate_of(0).outstanding() == 0;
      });
    }
  }
};

TEST_F(launching, no_wait_is_let_go_before_an_earlier_one) {
  gate& of = gate_of(0);
  for (int i = 0; i < 2; ++i) bubble(0);
  {
    wait_limits limits;
    limits.add(of, 1, std::chrono::steady_clock::now() + 1h);
    of.launch(1, start_when::opened, arming::beside);
    limits.add(of, 2, std::chrono::steady_clock::now() + 1ms);
    of.launch(2, start_when::opened, arming::beside);
    EXPECT_FALSE(within_time([&] { return of.counts()[counted::released] != 0; }, 200ms));
  }
  EXPECT_EQ(of.counts()[counted::released], 2U);
}

TEST_F(launching, several_workers_wait_where_the_other_stream_has_had_no_bubble_for_a_second) {
  start({.armed_ahead = 10s, .shared_overdue = 10s});
  for (int i = 0; i < 2; ++i) bubble(0);
  EXPECT_EQ(tick(), a_launch) << "a second one might keep up what the other stream's bubble waits for";
  await_that([&] { return !gate_of(1).is_in_use(); });
  EXPECT_EQ(tick(), a_launch);
}

TEST_F(launching, of_an_opening_of_which_nothing_is_known_a_limit_on_waiting_makes_it_wait_until_it_is_seen) {
  start({.armed_ahead = 1ms});
  bubble(0);
  auto const before = std::chrono::steady_clock::now();
  EXPECT_GT(launcher_->offer(gate_of(0)), before);
  EXPECT_EQ(tick(), calls{});
  EXPECT_LT(next_, std::chrono::steady_clock::now() + 1ms) << "it is looked at again soon";
  opens(0);
  EXPECT_EQ(tick(), a_launch);
  EXPECT_EQ(gate_of(0).counts()[counted::armed], 0U);
  EXPECT_EQ(tick(), calls{});
}

TEST_F(launching, a_worker_that_may_wait_is_enqueued_ahead_and_starts_with_the_opening) {
  start({.armed_ahead = 10s, .shared_overdue = 10s});
  bubble(0);
  launcher_->offer(gate_of(0));
  EXPECT_EQ(seen_.take(), a_launch);
  EXPECT_EQ(gate_of(0).counts()[counted::armed], 1U);
  EXPECT_FALSE(executor_.workers_done());
  opens(0);
  await_workers();
  EXPECT_EQ(tick(), calls{});
}

TEST_F(launching, without_a_limit_an_opening_of_which_nothing_is_known_is_waited_for_at_once) {
  start({});
  bubble(0);
  launcher_->offer(gate_of(0));
  EXPECT_EQ(seen_.take(), a_launch);
  opens(0);
  await_workers();
}

TEST_F(launching, no_worker_waits_where_none_may) {
  start({.armed_ahead = 0ns});
  bubble(0);
  launcher_->clock().note(0, std::chrono::steady_clock::time_point{});
  EXPECT_EQ(tick(), calls{});
  opens(0);
  EXPECT_EQ(tick(), a_launch);
}

TEST_F(launching, a_bubble_that_is_over_gets_no_worker) {
  start({.armed_ahead = 1ms});
  bubble(0);
  bubble(0);
  opens(0);
  closes(0);
  opens(0);  // the second, so the first is over
  EXPECT_EQ(tick(), a_launch);
  EXPECT_EQ(gate_of(0).counts()[counted::launches], 1U);
}

TEST_F(launching, one_that_waits_is_let_go_when_another_could_work) {
  start({.armed_ahead = 10s, .shared_overdue = 10s});
  tick();  // sees two gates
  bubble(0);
  bubble(1);
  launcher_->offer(gate_of(0));
  launcher_->offer(gate_of(1));
  EXPECT_EQ(seen_.take(), a_launch);
  EXPECT_EQ(tick(), calls{}) << "never one after another's";
  opens(1);  // the other way round than expected
  EXPECT_EQ(tick(), calls{});
  EXPECT_EQ(gate_of(0).counts()[counted::released], 1U);
  await_workers();
  EXPECT_EQ(tick(), a_launch);
  await_workers();
  opens(0);
  EXPECT_EQ(tick(), a_launch) << "it gets another one now";
  await_workers();
  closes(0);
  closes(1);
}

TEST_F(launching, one_that_waits_too_long_is_let_go_and_gets_another_when_it_opens) {
  start({.armed_ahead = 1s});  // what is not known is taken to be a second away
  tick();                      // sees two gates, among which a wait is short
  bubble(0);
  launcher_->offer(gate_of(0));
  EXPECT_EQ(seen_.take(), a_launch);
  await_that([&] { return gate_of(0).counts()[counted::released] != 0; });  // whatever the dispatcher does
  await_workers();
  EXPECT_EQ(tick(), calls{});
  opens(0);
  EXPECT_EQ(tick(), a_launch);
  await_workers();
}

TEST_F(launching, in_line_a_worker_comes_with_the_opening_edge_and_is_never_let_go) {
  start({.in_line = true});
  bubble(0);
  launcher_->offer(gate_of(0));
  EXPECT_EQ(seen_.take(), a_launch);
  bubble(1);
  launcher_->offer(gate_of(1));
  opens(1);
  tick();
  std::this_thread::sleep_for(20ms);  // longer than workers beside the trainer wait
  EXPECT_EQ(gate_of(0).counts()[counted::released], 0U);
  opens(0);
  await_workers();
}

TEST_F(launching_on_one_stream, so_many_are_enqueued_at_once_and_no_more) {
  start({.armed_ahead = 10s});
  for (std::uint64_t i = 0; i < executor::max_in_flight + 5; ++i) {
    bubble(0);
    launcher_->offer(gate_of(0));
  }
  seen_.take();
  EXPECT_EQ(gate_of(0).counts()[counted::launches], executor::max_in_flight);
}

TEST_F(launching, when_it_stops_those_that_wait_are_let_go) {
  start({.armed_ahead = 10s, .shared_overdue = 10min});
  bubble(0);
  launcher_->offer(gate_of(0));
  launcher_->stop();
  await_workers();
  bubble(0);
  EXPECT_EQ(tick(), calls{});
  opens(0);
  EXPECT_EQ(tick(), calls{}) << "no other worker either";
}

TEST_F(launching_on_one_stream, an_opening_that_is_expected_is_waited_for_shortly_before) {
  start({});
  train(6, 10ms);
  bubble(0);
  auto const asked = gate_of(0).request();
  ASSERT_TRUE(asked && asked->expected_ns);
  auto const at = launcher_->clock().at(*asked->expected_ns);
  ASSERT_TRUE(at);
  std::this_thread::sleep_until(*at - asked->ahead);
  EXPECT_EQ(tick(), a_launch);
  EXPECT_FALSE(gate_of(0).has_opened(7));
  opens(0);
}

/// If its length were unknown, it would wait for 250 ms.
TEST_F(launching_on_one_stream, one_that_opens_later_than_expected_is_not_waited_for_longer_than_it_lasts) {
  start({});
  train(2, 10ms, runtime_mode::observe);  // measures their length, because the workers here leave at once
  train(6, 10ms);
  bubble(0);
  await_that([&] { return tick() == a_launch; });
  auto const enqueued = std::chrono::steady_clock::now();
  await_that([&] { return gate_of(0).counts()[counted::released] != 0; });  // whatever the dispatcher does
  EXPECT_LT(std::chrono::steady_clock::now() - enqueued, 150ms);
  await_workers();
  EXPECT_EQ(tick(), calls{});
  opens(0);
  EXPECT_EQ(tick(), a_launch);
  await_workers();
}

/// The trainer does something else for a while, and its host is ahead: the opening from which later ones were expected
/// has not come.
TEST_F(launching_on_one_stream, after_one_that_is_late_none_is_waited_for) {
  start({});
  train(2, 40ms, runtime_mode::observe);
  train(6, 40ms);
  runtime_counts const trained = gate_of(0).counts();
  auto const since_then = [&](counted what) { return gate_of(0).counts()[what] - trained[what]; };
  for (int ahead = 0; ahead < 3; ++ahead) bubble(0);
  await_that([&] { return tick(), since_then(counted::launches) != 0; });
  std::uint64_t const waits = since_then(counted::launches);  // one, unless this machine has just slept for 40 ms
  await_that([&] { return since_then(counted::released) >= waits; });  // whatever the dispatcher does
  await_workers();
  auto const all_expected = std::chrono::steady_clock::now() + 200ms;
  while (std::chrono::steady_clock::now() < all_expected) ASSERT_EQ(tick(), calls{});
  opens(0);
  closes(0);
  await_that([&] { return waits != 1 || (tick(), since_then(counted::armed) != waits); });
  EXPECT_EQ(since_then(counted::armed), waits == 1 ? 2 : waits) << "the next one is expected again";
}

TEST_F(launching_on_one_stream, one_that_is_likely_over_gets_no_worker) {
  start({.armed_ahead = 0ns});
  train(8, 10ms, runtime_mode::observe);
  bubble(0);
  opens(0);
  auto const asked = gate_of(0).request();
  ASSERT_TRUE(asked);
  ASSERT_GE(asked->usual_length, 20ms);
  std::this_thread::sleep_for(asked->usual_length + 10ms);
  EXPECT_EQ(tick(), calls{}) << "a worker would meet what the trainer computes";
  EXPECT_FALSE(gate_of(0).request());
}

TEST_F(launching_on_one_stream, one_before_the_open_one_gets_no_worker) {
  start({.armed_ahead = 0ns});
  bubble(0);
  bubble(0);
  opens(0);
  closes(0);
  opens(0);
  EXPECT_EQ(tick(), a_launch) << "the first is over";
  await_workers();
}

TEST_F(launching_on_one_stream, one_whose_workers_were_let_go_gets_no_others_before_they_are_seen_to_be_out) {
  start({.armed_ahead = 1s});
  bubble(0);
  launcher_->offer(gate_of(0));
  EXPECT_EQ(seen_.take(), a_launch);
  await_that([&] { return gate_of(0).counts()[counted::released] != 0; });
  opens(0);
  launcher_->offer(gate_of(0));
  EXPECT_EQ(seen_.take(), calls{}) << "only a tick looks";
  await_workers();
  EXPECT_EQ(tick(), a_launch);
  await_workers();
}

TEST_F(launching_on_one_stream, one_whose_workers_were_let_go_gets_others_while_the_host_is_inside) {
  start({.armed_ahead = 1s});
  threads_stream* const stream = streams_[0]->get();
  streams_[0]->arm();
  bubble_id const id = gate_of(0).open(stream, stream->id(), site{"wait"}, runtime_mode::on, launch_time::at_open);
  EXPECT_EQ(tick(), (calls{"open_edge", "launch  for 200 us"}));
  gate_of(0).release(id.bubble);
  await_workers();
  opens(0);
  EXPECT_EQ(tick(), calls{"launch  for 200 us"});
  gate_of(0).close(id, stream, {.is = stream_found::plain, .id = stream->id()}, closing{});
}

TEST_F(launching_on_one_stream, of_waits_a_later_one_is_not_ended_sooner) {
  wait_limits limits;
  bubble(0);
  bubble(0);
  limits.add(gate_of(0), 1, std::chrono::steady_clock::now() + 1h);
  limits.add(gate_of(0), 2, std::chrono::steady_clock::now());
  std::this_thread::sleep_for(20ms);
  limits.add(gate_of(0), 3, std::chrono::steady_clock::now());  // which looks at all
  EXPECT_EQ(gate_of(0).counts()[counted::released], 0U) << "workers of the first would be let go, too";
}

TEST_F(launching_on_one_stream, an_option_to_wait_for_long_holds_beside_late_openings) {
  start({.armed_ahead = 10s});
  train(2, 10ms, runtime_mode::observe);
  train(6, 10ms);
  bubble(0);
  launcher_->offer(gate_of(0));
  EXPECT_EQ(gate_of(0).counts()[counted::launches], 7U);
  std::this_thread::sleep_for(100ms);  // longer than without the option
  EXPECT_EQ(gate_of(0).counts()[counted::released], 0U);
  opens(0);
  await_workers();
}

}  // namespace
}  // namespace lull::detail
