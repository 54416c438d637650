// SPDX-License-Identifier: Apache-2.0
// What the captured gates of a runtime collect where there are many graphs, or streams.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/detail/gate/captured_gates.hpp>
#include <lull/tests/host/recording_executor.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull::detail {
namespace {

class many_captured : public testing::Test {
 protected:
  static constexpr std::uint32_t first = 16;

  threads_graph capture(threads_stream& trainer) {
    trainer.begin_capture();
    open_result const opened = gates_.open(trainer.capture(), &trainer, site{"wait"}, runtime_mode::observe);
    EXPECT_EQ(opened.what, counted::captured);
    EXPECT_TRUE(gates_.close(opened, &trainer));
    return trainer.end_capture();
  }
  void collect() {
    ASSERT_TRUE(gates_.begin_collecting(*lane_, true));
    await_that([&] { return lane_->done(); });
    gates_.collect({reports_, clock_});
  }

  record seen_;
  recording_executor executor_{seen_};
  captured_gates gates_{executor_, first, false, site_limits{}, [](std::string_view line) { ADD_FAILURE() << line; }};
  std::unique_ptr<copy_lane> lane_ = executor_.make_copy_lane();
  std::deque<bubble_report> reports_;
  device_clock clock_;
};

TEST_F(many_captured, bubbles_are_read_a_part_at_a_time) {
  constexpr std::size_t at_a_time = 4096, graphs = 9,
                        replays = 500;  // a ring is not full, and all of them are too many
  threads_stream trainer;
  std::vector<threads_graph> all;
  for (std::size_t i = 0; i < graphs; ++i) all.push_back(capture(trainer));
  for (threads_graph const& each : all) {
    for (std::size_t i = 0; i < replays; ++i) trainer.launch(each);
  }
  trainer.synchronize();
  for (int looks = 0; looks < 5; ++looks) {
    std::size_t const before = reports_.size();
    collect();
    EXPECT_LE(reports_.size() - before, at_a_time);
  }
  EXPECT_EQ(reports_.size(), graphs * replays);
  EXPECT_TRUE(gates_.all_collected());
  EXPECT_EQ(gates_.counts()[counted::dropped], 0U);
}

TEST_F(many_captured, streams_are_told_apart_up_to_a_number) {
  constexpr std::size_t told_apart = 16;
  std::vector<std::unique_ptr<threads_stream>> streams;
  std::vector<threads_graph> all;
  for (std::size_t i = 0; i < told_apart + 4; ++i) {
    streams.push_back(std::make_unique<threads_stream>());
    all.push_back(capture(*streams.back()));
    streams.back()->launch(all.back());
    streams.back()->synchronize();
  }
  for (int looks = 0; looks < 3; ++looks) collect();
  ASSERT_EQ(reports_.size(), all.size());
  std::multiset<std::uint32_t> told;
  for (bubble_report const& each : reports_) told.insert(each.gate);
  for (std::uint32_t gate = first; gate < first + told_apart; ++gate)
    EXPECT_EQ(told.count(gate), gate + 1 == first + told_apart ? 5U : 1U) << gate;
}

}  // namespace
}  // namespace lull::detail
