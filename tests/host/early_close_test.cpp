// SPDX-License-Identifier: Apache-2.0
// Bubbles that a peer closes early, over the threads executor: workers leave while the trainer's stream still waits.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/device/threads_world.hpp>
#include <lull/host/detail/early_words.hpp>
#include <lull/host/early_close.hpp>
#include <lull/host/error.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tasks/synthetic.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
constexpr auto long_enough = 60s;  // against hangs only

/// What the trainer's stream waits for.
class door {
 public:
  void wait_on(threads_stream& stream) {
    stream.enqueue([this] { open_.wait(false); });
  }
  void open() {
    open_ = true;
    open_.notify_all();
  }
  void shut() { open_ = false; }

 private:
  std::atomic<bool> open_ = false;
};

class early_close_on_threads : public testing::Test {
 protected:
  early_close_on_threads()
      : side_(std::make_unique<runtime>(runtime_options{.machine = {.kind = executor_kind::threads, .processors = 2},
                                                        .tasks = {type_of<compute_task>()}})) {
    job_ = side_->submit(compute_task{&sink_, 64, 1U << 30, 10}, "endless");
    until([&] { return job_.progress().state == job_state::placed; }, "the job stands ready");
    side_->take_bubbles();
  }
  ~early_close_on_threads() override {
    door_.open();
    trainer_.synchronize();
  }

  template <class So>
  static void until(So so, char const* what) {
    auto const give_up = std::chrono::steady_clock::now() + long_enough;
    while (!so()) {
      ASSERT_LT(std::chrono::steady_clock::now(), give_up) << "for ever not: " << what;
      std::this_thread::sleep_for(50us);
    }
  }
  void until_worker_works() {
    until([&, before = job_.progress().phases] { return job_.progress().phases > before; }, "the worker works");
  }
  void until_worker_left() {
    until([&] { return side_->machine().workers_done(); }, "the worker is out");
  }
  void until_launched(std::uint64_t launches) {
    until([&] { return side_->counts()[counted::launches] >= launches; }, "the worker is enqueued");
  }
  void wait_in_bubble(char const* where = "recv") {
    bubble const idle{*side_, &trainer_, site{where}};
    door_.wait_on(trainer_);
  }
  /// The wait is over; returns what came of the bubble.
  bubble_report end_wait() {
    door_.open();
    trainer_.synchronize();
    door_.shut();
    std::vector<bubble_report> found;
    until(
        [&] {
          for (bubble_report const& each : side_->take_bubbles()) found.push_back(each);
          return !found.empty();
        },
        "the bubble is told");
    return found.front();
  }
  /// Whether the worker left because of a close, while the bubble was open until `now_ns` at least.
  static void expect_closed_early(bubble_report const& told, std::uint64_t now_ns) {
    EXPECT_GT(told.record().blocks, 0U);
    EXPECT_EQ(told.record().lease_blocks, 0U);
    EXPECT_EQ(told.record().idle_blocks, 0U);
    EXPECT_LT(told.record().last_out_ns, now_ns);
  }

  float sink_ = 0;
  std::unique_ptr<runtime> side_;
  job job_;
  threads_stream trainer_;
  threads_stream peer_;
  door door_;
};

TEST_F(early_close_on_threads, ends_the_bubble_that_is_open_and_not_the_next_one) {
  early_close const early{side_->early_close_of(site{"recv"})};
  wait_in_bubble();
  until_worker_works();
  early.send(&peer_);
  until_worker_left();
  std::uint64_t const now_ns = threads_world::now_ns();
  bubble_report const told = end_wait();
  expect_closed_early(told, now_ns);
  EXPECT_LE(static_cast<std::uint64_t>(told.opened_ns + told.length.count()), now_ns);  // its length ends there, too
  wait_in_bubble();
  until_worker_works();
  EXPECT_GT(end_wait().record().blocks, 0U);
}

TEST_F(early_close_on_threads, of_a_site_that_is_known_by_then) {
  wait_in_bubble();
  until_worker_works();
  std::this_thread::sleep_for(500ms);  // so that the next lease has 2 s
  end_wait();
  early_close const early{side_->early_close_of(site{"recv"})};
  wait_in_bubble();
  until_worker_works();
  early.send(&peer_);
  until_worker_left();
  std::uint64_t const now_ns = threads_world::now_ns();
  expect_closed_early(end_wait(), now_ns);
}

TEST_F(early_close_on_threads, that_comes_before_its_bubble_lets_no_work_begin_there) {
  early_close const early{side_->early_close_of(site{"recv"})};
  early.send(&peer_);
  early.send(&peer_);
  peer_.synchronize();
  wait_in_bubble();
  until_launched(1);
  until_worker_left();
  bubble_report const told = end_wait();
  EXPECT_EQ(told.record().blocks, 0U);
  EXPECT_GT(told.record().late_blocks, 0U);
  wait_in_bubble();  // the close has forgotten both
  until_worker_works();
  EXPECT_GT(end_wait().record().blocks, 0U);
}

TEST_F(early_close_on_threads, leaves_bubbles_of_other_sites_alone) {
  early_close const early{side_->early_close_of(site{"recv"})};
  side_->early_close_of(site{"another"});
  early.send(&peer_);
  peer_.synchronize();
  for (char const* where : {"another", "a third"}) {
    wait_in_bubble(where);
    until_worker_works();
    EXPECT_GT(end_wait().record().blocks, 0U);
  }
}

TEST_F(early_close_on_threads, works_in_replayed_graphs_of_both_sides) {
  early_close const early{side_->early_close_of(site{"recv"})};
  trainer_.begin_capture();
  wait_in_bubble();
  threads_graph const step = trainer_.end_capture();
  peer_.begin_capture();
  early.send(&peer_);
  threads_graph const send = peer_.end_capture();
  std::this_thread::sleep_for(20ms);  // the job reaches the graph's slots
  trainer_.launch(step);
  until_worker_works();
  peer_.launch(send);
  until_worker_left();
  std::uint64_t const now_ns = threads_world::now_ns();
  bubble_report const told = end_wait();
  expect_closed_early(told, now_ns);
  EXPECT_GT(static_cast<std::uint64_t>(told.opened_ns + told.length.count()), now_ns);  // the edge tells its length
  trainer_.launch(step);
  until_worker_works();
  EXPECT_GT(end_wait().record().blocks, 0U);
}

TEST_F(early_close_on_threads, may_come_when_its_runtime_is_gone) {
  early_close const early{side_->early_close_of(site{"recv"})};
  side_.reset();
  early.send(&peer_);
  peer_.synchronize();
  auto const next = std::make_unique<runtime>(runtime_options{.machine = {.kind = executor_kind::threads}});
  EXPECT_NE(next->early_close_of(site{"recv"}).process, 0U);
}

TEST_F(early_close_on_threads, has_one_handle_a_site) {
  early_close_handle const one = side_->early_close_of(site{"recv"});
  EXPECT_EQ(side_->early_close_of(site{"recv"}).address, one.address);
  EXPECT_NE(side_->early_close_of(site{"other"}).address, one.address);
  for (std::size_t i = 2; i < detail::early_words::max_sites; ++i) side_->early_close_of(site{std::to_string(i)});
  EXPECT_THROW(side_->early_close_of(site{"one too many"}), limit_error);
}

TEST_F(early_close_on_threads, refuses_handles_that_name_nothing_here) {
  EXPECT_THROW(early_close{early_close_handle{}}, usage_error);
  early_close_handle of_another = side_->early_close_of(site{"recv"});
  ++of_another.process;
  EXPECT_THROW(early_close{of_another}, usage_error);
}

}  // namespace
}  // namespace lull
