// SPDX-License-Identifier: Apache-2.0
// Bubbles that wait for workers because a kernel of the trainer finds no SM, and how the runtime reacts.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/report/bubble_summary.hpp>
#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tasks/synthetic.hpp>
#include <lull/tests/host/runtime_recorded.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

/// Bubbles, some of which last until all workers have left.
class runtime_held_up : public runtime_recorded {
 protected:
  void SetUp() override {
    side_ = make();
    // Its chunks end: a site where workers hand back all of theirs would be passed over.
    job_ = side_->submit(compute_task{&sink_, 1U << 30, 1U << 30, 10}, "endless");
    await(job_, job_state::placed);
    for (int i = 0; i < 2; ++i) bubble_of(100ms);  // from now on leases last 400 ms
    seen.take();
  }
  void bubble_of(std::chrono::milliseconds length) {
    std::uint64_t const before = side_->summary().seen();
    bubble_id const id = side_->open(&trainer, site{"recv"});
    trainer.enqueue([length] { std::this_thread::sleep_for(length); });
    side_->close(id, &trainer);
    ended(before);
  }
  void bubble_until_workers_left() {
    std::uint64_t const before = side_->summary().seen();
    std::atomic<bool> closed{false};
    seen.ends_unseen = true;  // the dispatcher must not look between the workers' end and the bubble's
    bubble_id const id = side_->open(&trainer, site{"recv"});
    trainer.enqueue([&] { EXPECT_TRUE(within_time([&] { return closed && executor_of(*side_).workers_done(); })); });
    side_->close(id, &trainer);
    closed = true;
    trainer.synchronize();
    seen.ends_unseen = false;
    ended(before);
  }
  std::ptrdiff_t lines_with(std::string const& words) {
    auto const lines = log();
    return std::count_if(lines.begin(), lines.end(),
                         [&](auto const& line) { return line.find(words) != std::string::npos; });
  }
  /// Repeats bubbles: a dispatcher that comes too late cannot tell what the bubble waited for.
  void until_held_up() {
    for (int tries = 0; tries < 20 && side_->counts()[counted::held_up] == 0; ++tries) bubble_until_workers_left();
    ASSERT_EQ(side_->counts()[counted::held_up], 1U);
  }
  void until_more_is_asked_for() {
    kept_off_.clear();
    for (int tries = 0; tries < 20 && kept_off_.empty(); ++tries) {
      bubble_until_workers_left();
      note_kept_off();
    }
    ASSERT_FALSE(kept_off_.empty());
    EXPECT_GE(side_->counts()[counted::held_up], 2U);
  }
  void note_kept_off() {
    for (std::string const& call : seen.take()) {
      if (call == "reserve_group") kept_off_.push_back(call);
    }
  }

  float sink_ = 0;
  std::unique_ptr<runtime> side_;
  job job_;
  calls kept_off_;

 private:
  void ended(std::uint64_t before) {
    trainer.synchronize();
    await_that([&] { return side_->summary().seen() != before; });
  }
};

TEST_F(runtime_held_up, twice_in_a_row_makes_workers_keep_off_more) {
  until_more_is_asked_for();
  EXPECT_EQ(side_->counts()[counted::groups_added], 1U);
  EXPECT_EQ(kept_off_, calls{"reserve_group"});
  EXPECT_EQ(side_->summary().reserved()->groups_added, 1U);
  EXPECT_EQ(side_->summary().reserved()->last_added_at, "recv");
  EXPECT_TRUE(within_time([&] { return lines_with("'recv'") == 1 && lines_with("one more group of SMs") == 1; }));
}

TEST_F(runtime_held_up, once_and_again_later_may_be_chance) {
  for (int i = 0; i < 2; ++i) {
    std::uint64_t const before = side_->counts()[counted::held_up];
    for (int tries = 0; tries < 20 && side_->counts()[counted::held_up] == before; ++tries) bubble_until_workers_left();
    bubble_of(1ms);
  }
  note_kept_off();
  EXPECT_EQ(kept_off_, calls{});
  EXPECT_EQ(side_->counts()[counted::groups_added], 0U);
}

TEST_F(runtime_held_up, does_not_make_leases_longer) {
  until_held_up();
  auto const before = side_->take_bubbles().back().lease;
  bubble_until_workers_left();
  EXPECT_EQ(side_->take_bubbles().back().lease, before);
}

TEST_F(runtime_held_up, where_nothing_is_left_to_keep_off_is_told_once) {
  seen.can_reserve_group = false;
  until_more_is_asked_for();
  EXPECT_EQ(side_->counts()[counted::groups_added], 0U);
  EXPECT_TRUE(within_time([&] { return lines_with("no further group") == 1; }));
  until_more_is_asked_for();
  EXPECT_FALSE(within_time([&] { return lines_with("no further group") > 1; }, 200ms));
}

TEST_F(runtime_held_up, is_not_said_of_a_bubble_that_outlasts_the_lease) {
  bubble_of(900ms);
  EXPECT_EQ(side_->counts()[counted::held_up], 0U);
  note_kept_off();
  EXPECT_EQ(kept_off_, calls{});
}

}  // namespace
}  // namespace lull
