// SPDX-License-Identifier: Apache-2.0
// Bubbles that wait for workers, because a kernel of the trainer finds no room, and what the runtime makes of them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tests/host/runtime_recorded.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

/// Bubbles of which some last until all workers have left.
class runtime_held_up : public runtime_recorded {
 protected:
  void SetUp() override {
    side_ = make();
    job_ = submit_endless(*side_);
    await(*side_, job_, job_state::placed);
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
    bubble_id const id = side_->open(&trainer, site{"recv"});
    trainer.enqueue([&] {
      while (!closed || !side_->machine().workers_done()) std::this_thread::sleep_for(100us);
    });
    side_->close(id, &trainer);
    closed = true;
    ended(before);
  }
  bool any_line_has(std::string const& words) {
    auto const lines = log();
    return std::any_of(lines.begin(), lines.end(), [&](auto const& line) { return line.find(words) != std::string::npos; });
  }
  /// A dispatcher that comes too late cannot tell what the bubble waited for.
  void until_held_up() {
    for (int tries = 0; tries < 20 && side_->counts().held_up == 0; ++tries) bubble_until_workers_left();
    ASSERT_EQ(side_->counts().held_up, 1U);
  }
  calls kept_off() {
    calls all = seen.take();
    std::erase_if(all, [](std::string const& call) { return call != "keep_more_off"; });
    return all;
  }

  std::unique_ptr<runtime> side_;
  job job_;

 private:
  void ended(std::uint64_t before) {
    trainer.synchronize();
    while (side_->summary().seen() == before) std::this_thread::sleep_for(100us);
  }
};

TEST_F(runtime_held_up, makes_workers_keep_off_more) {
  until_held_up();
  EXPECT_EQ(side_->counts().raised, 1U);
  EXPECT_EQ(kept_off(), calls{"keep_more_off"});
  EXPECT_EQ(side_->summary().reserved()->raised, 1U);
  EXPECT_EQ(side_->summary().reserved()->raised_at, "recv");
  while (log().empty()) std::this_thread::yield();
  EXPECT_TRUE(any_line_has("'recv'"));
  EXPECT_TRUE(any_line_has("one more group of SMs"));
}

TEST_F(runtime_held_up, does_not_make_leases_longer) {
  until_held_up();
  auto const before = side_->take_bubbles().back().lease;
  bubble_until_workers_left();
  EXPECT_EQ(side_->take_bubbles().back().lease, before);
}

TEST_F(runtime_held_up, where_nothing_is_left_to_keep_off_is_told) {
  seen.can_keep_more_off = false;
  until_held_up();
  EXPECT_EQ(side_->counts().raised, 0U);
  while (log().empty()) std::this_thread::yield();
  EXPECT_TRUE(any_line_has("no further group"));
}

TEST_F(runtime_held_up, is_not_said_of_a_bubble_that_outlasts_the_lease) {
  bubble_of(900ms);
  EXPECT_EQ(side_->counts().held_up, 0U);
  EXPECT_EQ(kept_off(), calls{});
}

}  // namespace
}  // namespace lull
