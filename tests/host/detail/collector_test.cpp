// SPDX-License-Identifier: Apache-2.0
// Reports from several sources of bubbles, some without any; the test decides when copies arrive.
#include <lull/host/detail/dispatch/collector.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lull/tests/host/recording_executor.hpp>
#include <lull/tests/support/log_lines.hpp>

namespace lull::detail {
namespace {

using namespace std::chrono_literals;

/// A source whose bubbles the test sets.
class told_source final : public bubble_source {
 public:
  bool begin_collecting(copy_lane&, bool at_the_end) override {
    ++begun;
    was_at_the_end = at_the_end;
    return has != 0;
  }
  void collect(collected_bubbles const& to) override {
    at_work = to.at_work;
    for (; has != 0; --has) to.into.emplace_back().site = "wait";
  }
  std::chrono::nanoseconds longest() const override { return length; }
  std::optional<std::string> take_held_up() override { return std::exchange(held_up, std::nullopt); }
  runtime_counts counts() const override { return {}; }

  int has = 0;
  int begun = 0;
  bool was_at_the_end = false;
  void const* at_work = nullptr;
  std::chrono::nanoseconds length{0};
  std::optional<std::string> held_up;
};

/// Copies that are done when a test says so.
class slow_lane final : public copy_lane {
 public:
  explicit slow_lane(bool const& is_done) : is_done_(is_done) {}
  void copy_in(void*, void const*, std::size_t) override {}
  void copy_out(void*, void const*, std::size_t) override {}
  bool done() override { return is_done_; }

 private:
  bool const& is_done_;
};

class slow_executor final : public threads_executor {
 public:
  slow_executor(bool const& is_done, calls& asked)
      : threads_executor{{.kind = executor_kind::threads, .processors = 1}}, is_done_(is_done), asked_(asked) {}
  std::unique_ptr<copy_lane> make_copy_lane() override { return std::make_unique<slow_lane>(is_done_); }
  bool reserve_group() override {
    asked_.push_back("reserve_group");
    return std::exchange(has_group_, false);
  }

 private:
  bool const& is_done_;
  calls& asked_;
  bool has_group_ = true;
};

class collecting : public testing::Test {
 protected:
  void round() {
    ASSERT_TRUE(collector_.collect(&kind_));
    collector_.begin(false);
  }

  bool is_done_ = true;
  calls asked_;
  test::log_lines lines_;
  log_queue log_{lines_.function()};
  device_clock clock_;
  told_source streams_;
  told_source graphs_;
  int kind_ = 0;
  collector collector_{
      std::make_shared<slow_executor>(is_done_, asked_), {&streams_, &graphs_}, clock_, {.max_bubbles = 3}, log_};
};

TEST_F(collecting, takes_what_was_copied_in_a_later_round_from_those_that_had_something) {
  streams_.has = 2;
  round();
  EXPECT_EQ(collector_.collected(), 0U) << "copies are under way";
  is_done_ = false;
  EXPECT_FALSE(collector_.collect(&kind_));
  EXPECT_EQ(streams_.begun, 1) << "one round of copies at a time";
  is_done_ = true;
  EXPECT_TRUE(collector_.collect(&kind_));
  EXPECT_EQ(collector_.collected(), 2U);
  EXPECT_EQ(streams_.at_work, &kind_);
  EXPECT_EQ(graphs_.at_work, nullptr) << "it had nothing";
  collector_.begin(true);
  EXPECT_TRUE(graphs_.was_at_the_end);
}

TEST_F(collecting, keeps_the_latest_reports_and_a_summary_of_all) {
  streams_.has = 2;
  graphs_.has = 3;
  round();
  round();
  EXPECT_EQ(collector_.collected(), 5U);
  EXPECT_EQ(collector_.take_bubbles().size(), 3U);
  EXPECT_TRUE(collector_.take_bubbles().empty());
  EXPECT_EQ(collector_.summary().seen(), 5U);
}

TEST_F(collecting, knows_the_longest_bubble_of_all_sources) {
  streams_.length = 2ms;
  graphs_.length = 3ms;
  EXPECT_EQ(collector_.longest(), 3ms);
}

TEST_F(collecting, asks_for_processors_once_a_round_and_says_once_that_there_are_none_left) {
  for (int rounds = 0; rounds < 4; ++rounds) {
    streams_.held_up = "receive";
    graphs_.held_up = "graph";
    round();
  }
  EXPECT_EQ(asked_.size(), 4U);
  EXPECT_EQ(collector_.groups_added(), 1U);
  log_.close();
  auto const said = lines_.now();
  ASSERT_EQ(said.size(), 2U);
  EXPECT_NE(said[0].find("'graph'"), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("one more group of SMs"), std::string::npos) << said[0];
  EXPECT_NE(said[1].find("no further group"), std::string::npos) << said[1];
}

}  // namespace
}  // namespace lull::detail
