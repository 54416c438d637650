// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include <lull/host/detail/gate/gate.hpp>
#include <lull/tests/host/recording_executor.hpp>
#include <lull/tests/support/probe_task.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull::detail {

class gate_of_a_stream : public testing::Test {
 protected:
  explicit gate_of_a_stream(site_limits limits = {.min_bubble = std::chrono::seconds{1}})
      : gate_{executor_, 0, 0, limits} {
    gate_.take(trainer_.id());
    gate_.note_lease(std::chrono::hours{1});
    gate_.arm(0, {threads_worker<probe_task>(), executor_.load(threads_worker<probe_task>(), 0), {&slot_, {}}});
  }
  ~gate_of_a_stream() override { trainer_.synchronize(); }

  open_result open(char const* where = "wait", runtime_mode mode = runtime_mode::on,
                   launch_time launch = launch_time::at_close) {
    return gate_.open(&trainer_, gate_.stream_id(), site{where}, mode, launch);
  }
  void close(bubble_id id, std::optional<closing> how = closing{}) {
    gate_.close(id, &trainer_, {.is = stream_found::plain, .id = gate_.stream_id()}, how);
  }
  /// Passes over bubbles that are over, and collects what is known of them.
  void collect() {
    while (auto const asked = gate_.request()) gate_.pass(asked->bubble);
    await_that([&] { return has_collected(); });
  }
  /// `record`: sets what workers would leave.
  void bubble(runtime_mode mode, std::function<void(bubble_record&)> const& record = {}) {
    bubble_id const id = open("wait", mode);
    ASSERT_NE(id.bubble, 0U);
    close(id);
    trainer_.synchronize();
    gate_ref const at = gate_.ref();
    if (record) record(at.records[id.bubble & at.record_mask]);
    collect();
  }
  bool has_collected() {
    if (gate_.outstanding() == 0) return true;
    if (gate_.begin_collecting(*lane_, false)) {
      await_that([&] { return lane_->done(); });
      gate_.collect({reports_, clock_});
    }
    return gate_.outstanding() == 0;
  }
  void change_owner() {
    auto const since = gate_.idle_since();
    ASSERT_TRUE(since);
    gate_.vacate(*since);
    ASSERT_EQ(gate_.stream_id(), 0U);
    gate_.take(++ids_);
  }

  record seen_;
  recording_executor executor_{seen_};
  threads_stream trainer_;
  slot_line slot_{};
  gate gate_;
  std::deque<bubble_report> reports_;
  device_clock clock_;

 private:
  std::uint64_t ids_ = std::uint64_t{1} << 40;
  std::unique_ptr<copy_lane> lane_ = executor_.make_copy_lane();
};

}  // namespace lull::detail
