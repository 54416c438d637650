// SPDX-License-Identifier: Apache-2.0
// A harvest as a trace: both replays of a pair from one origin, and side work in its bubbles.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/measure/replay_trace.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t us = 1000;

/// One forward, a gap, and a backward.
stage_plan small_plan() {
  using enum pass_kind;
  return {{{forward, 0, 0, 0ns, 2ms}, {backward, 0, 0, 8ms, 4ms}}, {{gap_site::steady, 1, 2ms, 6ms}}, 12ms};
}

/// One iteration from `begin_ns` on, 12 ms long, of which a bubble takes 6.
replayed one_iteration(std::uint64_t begin_ns) {
  replayed done;
  done.iterations = {{begin_ns, begin_ns + 12'000 * us}};
  replayed_bubble idle;
  idle.number = 7;
  idle.moments = {begin_ns + 2'000 * us, begin_ns + 8'000 * us};
  done.bubbles.push_back(std::move(idle));
  return done;
}

/// Blocks of it work from 50 µs after the opening until 20 µs after the close.
replayed harvested_iteration(std::uint64_t begin_ns) {
  replayed done = one_iteration(begin_ns);
  bubble_report told;
  told.current.record.blocks = 4;
  told.current.record.opened_ns = begin_ns + 2'000 * us;
  told.current.record.in_ns = std::uint64_t{4} * 50 * us;
  told.current.record.last_out_ns = begin_ns + 8'020 * us;
  told.current.record.chunks = 40;
  told.current.record.items = 400;
  done.bubbles.front().harvested = told;
  return done;
}

/// "track / name from start for length", in µs.
std::vector<std::string> drawn(std::vector<trace_event> const& events) {
  std::vector<std::string> lines;
  for (trace_event const& each : events) {
    lines.push_back(each.track + " / " + each.name + " from " + std::to_string(each.start_ns / 1000) + " for " +
                    std::to_string(each.duration_ns / 1000));
  }
  return lines;
}

std::string argument(std::vector<trace_event> const& events, std::string const& name, std::string const& key) {
  for (trace_event const& each : events) {
    if (each.name != name) continue;
    for (auto const& [known, value] : each.args) {
      if (known == key && std::holds_alternative<std::string>(value)) return std::get<std::string>(value);
      if (known == key && std::holds_alternative<std::int64_t>(value))
        return std::to_string(std::get<std::int64_t>(value));
    }
  }
  return "none";
}

TEST(harvest_trace, shows_all_that_one_replay_did) {
  std::vector<trace_event> events;
  std::int64_t const end =
      add_events(events, harvested_iteration(5'000'000 * us), small_plan(), {"with side work", "pagerank", 3, 0});
  EXPECT_EQ(end, 12'000'000);
  EXPECT_EQ(drawn(events), (std::vector<std::string>{"with side work: iterations / iteration 1 from 0 for 12000",
                                                     "with side work: training / forward 1 from 0 for 2000",
                                                     "with side work: training / backward 1 from 8000 for 4000",
                                                     "with side work: bubbles / steady from 2000 for 6000",
                                                     "with side work: workers / pagerank from 2050 for 5970",
                                                     "with side work: yields / last block out from 8020 for 0"}));
  EXPECT_EQ(argument(events, "iteration 1", "pair"), "3");
  EXPECT_EQ(argument(events, "iteration 1", "bubbles"), "50.0 % of the iteration");
  EXPECT_EQ(argument(events, "iteration 1", "side work in bubbles"), "49.6 % of the iteration");  // not what overran
  EXPECT_EQ(argument(events, "pagerank", "chunks"), "40");
  EXPECT_EQ(argument(events, "pagerank", "bubble"), "7");
}

TEST(harvest_trace, names_each_kind_of_pass_and_the_virtual_stage_where_there_are_several) {
  auto const names = [](std::vector<segment> const& segments) {
    std::vector<trace_event> events;
    replayed one = one_iteration(0);
    one.bubbles.clear();
    add_events(events, one, {segments, {}, 12ms}, {"alone", "", 1, 0});
    std::vector<std::string> found;
    for (trace_event const& each : events) {
      if (each.track == "alone: training") found.push_back(each.name);
    }
    return found;
  };
  using enum pass_kind;
  EXPECT_EQ(names({{forward, 2, 0, 0ns, 4ms}, {input_gradient, 2, 0, 4ms, 4ms}, {weight_gradient, 2, 0, 8ms, 4ms}}),
            (std::vector<std::string>{"forward 3", "input gradient 3", "weight gradient 3"}));
  EXPECT_EQ(names({{forward, 0, 0, 0ns, 4ms}, {forward, 0, 1, 4ms, 4ms}, {backward, 0, 1, 8ms, 4ms}}),
            (std::vector<std::string>{"forward 1, virtual stage 1", "forward 1, virtual stage 2",
                                      "backward 1, virtual stage 2"}));
}

TEST(harvest_trace, both_replays_of_a_pair_begin_at_once_in_tracks_of_their_own) {
  std::vector<trace_event> events;
  std::int64_t const end = add_events(events, one_iteration(9'000'000 * us), small_plan(), {"alone", "", 1, 100'000});
  EXPECT_EQ(end, 12'100'000);
  add_events(events, one_iteration(77 * us), small_plan(), {"with side work", "pagerank", 1, 100'000});
  std::vector<std::string> const lines = drawn(events);
  ASSERT_EQ(lines.size(), 8U);
  EXPECT_EQ(lines[0], "alone: iterations / iteration 1 from 100 for 12000");
  EXPECT_EQ(lines[3], "alone: bubbles / steady from 2100 for 6000");
  EXPECT_EQ(lines[4], "with side work: iterations / iteration 1 from 100 for 12000");
  EXPECT_EQ(lines[7], "with side work: bubbles / steady from 2100 for 6000");
}

TEST(harvest_trace, a_replay_that_did_not_begin_adds_nothing) {
  std::vector<trace_event> events;
  EXPECT_EQ(add_events(events, {}, small_plan(), {"alone", "", 1, 5}), 5);
  EXPECT_TRUE(events.empty());
}

}  // namespace
}  // namespace lull
