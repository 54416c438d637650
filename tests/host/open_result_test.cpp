// SPDX-License-Identifier: Apache-2.0
// What `open` returns: a bubble, or why there is none. Each answer is counted once.
#include <deque>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/runtime.hpp>
#include <lull/host/threads/stream.hpp>
#include <lull/tests/host/runtime_recorded.hpp>
#include <lull/tests/support/within_time.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

class open_result_of : public runtime_recorded {
 protected:
  counted ask(runtime& side, threads_stream& stream, char const* where = "wait") {
    open_result const opened = side.open(&stream, site{where});
    EXPECT_EQ(opened.bubble != 0, opened.what == counted::opened || opened.what == counted::captured);
    ++answers_[opened.what];
    last_ = opened;
    return opened.what;
  }
  /// Expects every answer so far in the counts, and nothing else.
  void expect_counted(runtime const& side) {
    runtime_counts const counts = side.counts();
    for (std::size_t i = 0; i <= static_cast<std::size_t>(counted::not_captured); ++i) {
      auto const what = static_cast<counted>(i);
      EXPECT_EQ(counts[what], answers_[what]) << name_of(what);
    }
  }

  void expect_said_once(char const* words) {
    ASSERT_FALSE(log_of(1).empty());
    EXPECT_NE(log()[0].find(words), std::string::npos) << log()[0];
    EXPECT_FALSE(within_time([&] { return log().size() > 1; }, 50ms)) << log()[1];
  }

  runtime_counts answers_;
  bubble_id last_;
};

TEST_F(open_result_of, a_runtime_that_is_off) {
  auto const side = make(options(runtime_mode::off));
  EXPECT_EQ(ask(*side, trainer), counted::off);
  expect_counted(*side);
}

TEST_F(open_result_of, a_job_and_none) {
  auto const side = make();
  EXPECT_EQ(ask(*side, trainer), counted::no_job);
  job const task = submit(*side, "a");
  await(task, job_state::placed);
  answers_ = side->counts();  // it was asked meanwhile
  EXPECT_EQ(ask(*side, trainer), counted::opened);
  side->close(last_, &trainer);
  expect_counted(*side);
}

TEST_F(open_result_of, a_bubble_inside_another) {
  auto const side = make(options(runtime_mode::observe));
  EXPECT_EQ(ask(*side, trainer, "outer"), counted::opened);
  bubble_id const outer = last_;
  EXPECT_EQ(ask(*side, trainer, "inner"), counted::nested);
  side->close(last_, &trainer);
  side->close(outer, &trainer);
  expect_counted(*side);
}

TEST_F(open_result_of, a_stream_of_another_device) {
  auto const side = make(options(runtime_mode::observe));
  seen.foreign = true;
  EXPECT_EQ(ask(*side, trainer), counted::foreign_stream);
  expect_counted(*side);
}

TEST_F(open_result_of, a_capture_that_cannot_be_told) {
  auto const side = make(options(runtime_mode::observe));
  seen.capturing = true;
  EXPECT_EQ(ask(*side, trainer), counted::not_captured);
  expect_counted(*side);
}

TEST_F(open_result_of, a_graph_that_is_captured) {
  auto const side = make(options(runtime_mode::observe));
  trainer.begin_capture();
  EXPECT_EQ(ask(*side, trainer), counted::captured);
  side->close(last_, &trainer);
  auto const graph = trainer.end_capture();
  expect_counted(*side);
}

TEST_F(open_result_of, graphs_that_are_captured_before_any_task_is_known) {
  auto const side = make();
  std::deque<threads_graph> graphs;
  for (int i = 0; i < 3; ++i) {
    trainer.begin_capture();
    EXPECT_EQ(ask(*side, trainer), counted::not_captured);
    graphs.push_back(trainer.end_capture());
  }
  expect_counted(*side);
  expect_said_once("runtime_options::tasks");
}

TEST_F(open_result_of, a_graph_that_finds_no_memory) {
  auto const side = make(options(runtime_mode::observe));
  std::deque<threads_graph> graphs;
  std::deque<std::uint32_t> gates;
  for (bool const is_full : {false, true, false}) {
    seen.memory_is_full = is_full;
    trainer.begin_capture();
    EXPECT_EQ(ask(*side, trainer), is_full ? counted::not_captured : counted::captured);
    side->close(last_, &trainer);
    graphs.push_back(trainer.end_capture());
    gates.push_back(last_.gate);
  }
  EXPECT_EQ(gates[2], gates[0] + 1) << "the refused one keeps no gate";
  answers_[counted::unmatched] = side->counts()[counted::unmatched];
  expect_counted(*side);
}

TEST_F(open_result_of, more_streams_than_gates) {
  std::deque<threads_stream> streams(20);
  auto const side = make(options(runtime_mode::observe));
  int without = 0;
  for (threads_stream& each : streams) {
    without += ask(*side, each) == counted::no_gate ? 1 : 0;
    side->close(last_, &each);
  }
  EXPECT_EQ(without, 4);
  expect_counted(*side);
  expect_said_once("more streams at a time than there are gates");
}

TEST_F(open_result_of, bubbles_whose_records_are_not_read_yet) {
  auto const side = make(options(runtime_mode::observe));
  seen.lengths_not_there = 1'000'000'000;
  counted what = counted::opened;
  for (int i = 0; i < 1'000 && what == counted::opened; ++i) {
    what = ask(*side, trainer);
    side->close(last_, &trainer);
  }
  EXPECT_EQ(what, counted::records_unread);
  EXPECT_EQ(answers_[counted::opened], 256U) << "each has a record of its own";
  expect_counted(*side);
  seen.lengths_not_there = 0;
}

TEST_F(open_result_of, a_scope_tells_it_too) {
  auto const side = make(options(runtime_mode::observe));
  bubble const outer{*side, &trainer, site{"outer"}};
  bubble const inner{*side, &trainer, site{"inner"}};
  EXPECT_EQ(outer.what(), counted::opened);
  EXPECT_EQ(inner.what(), counted::nested);
}

TEST(counted_kinds, each_has_a_name_of_its_own) {
  for (std::size_t i = 0; i < counted_kinds; ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(name_of(static_cast<counted>(i)), name_of(static_cast<counted>(j)));
  }
  EXPECT_EQ(name_of(counted::off), "off");
  EXPECT_EQ(name_of(counted::not_captured), "not_captured");
  EXPECT_EQ(name_of(counted::groups_added), "groups_added");
  EXPECT_EQ(name_of(counted::dropped), "dropped");
}

}  // namespace
}  // namespace lull
