// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <lull/apps/lull/timeline.hpp>
#include <lull/host/error.hpp>
#include <lull/tests/host/report/picture.hpp>

namespace lull {
namespace {

using kind = timeline_span::kind;

timeline example() {
  timeline drawn;
  drawn.subtitle = "1f1b, stage 0 of 2";
  drawn.slowdown_pct = 0.34;
  drawn.ci95_pct = interval95{0.2, 0.48};
  drawn.harvest_ratio = 0.934;
  drawn.without = {{{kind::forward, 0, 2'000'000, "0"},
                    {kind::bubble, 2'000'000, 6'000'000, ""},
                    {kind::backward, 8'000'000, 4'000'000, "0"}},
                   {0}};
  drawn.with = drawn.without;
  drawn.with.spans.push_back({kind::side_work, 2'050'000, 5'900'000, "pagerank"});
  return drawn;
}

TEST(Timeline, SaysWhatWasGainedAndWhatItCost) {
  std::string const picture = timeline_svg(example());
  EXPECT_EQ(malformed(picture), "");
  EXPECT_TRUE(contains(picture, ">93.4 % of the bubbles' time harvested; training took 0.34 % longer</text>"));
  EXPECT_TRUE(contains(picture, ">95 % interval of the slowdown: +0.20 to +0.48 %</text>"));
  EXPECT_TRUE(contains(picture, ">1f1b, stage 0 of 2</text>"));
  EXPECT_TRUE(contains(picture, ">nothing runs 50.0 % of the time</text>"));
  EXPECT_TRUE(contains(picture, ">nothing runs 0.8 % of the time</text>"));
  EXPECT_FALSE(contains(picture, "CPU threads"));
}

TEST(Timeline, CanBeReadAloud) {
  std::string const picture = timeline_svg(example());
  EXPECT_TRUE(contains(picture, "role=\"img\" aria-labelledby=\"title description\""));
  EXPECT_TRUE(contains(picture, "<title id=\"title\">93.4 %"));
  EXPECT_TRUE(contains(picture, "<desc id=\"description\">"));
  EXPECT_TRUE(contains(picture,
                       "Training alone: 12.0 ms, of which bubbles 6.00 ms. With side work: 12.0 ms, of which "
                       "bubbles 6.00 ms, filled with 5.90 ms of side work."));
}

TEST(Timeline, EverySpanIsDrawnToScaleOnce) {
  std::string const picture = timeline_svg(example());
  EXPECT_EQ(count(picture, "<title>forward 0, 2.00 ms, from 0</title>"), 2u);
  EXPECT_EQ(count(picture, "<title>bubble, 6.00 ms, from 2.00 ms</title>"), 2u);
  EXPECT_EQ(count(picture, "<title>side work pagerank, 5.90 ms, from 2.05 ms</title>"), 1u);
  // 12 ms take 1,152 px from x = 24 on: the bubble begins at 24 + 192 and is 576 wide.
  EXPECT_EQ(count(picture, "<rect x=\"216\" y=\"150\" width=\"576\" height=\"64\" fill=\"url(#idle)\""), 1u);
  EXPECT_EQ(count(picture, "<rect x=\"216\" y=\"280\" width=\"576\" height=\"64\" fill=\"url(#idle)\""), 1u);
  EXPECT_LT(picture.find("bubble, 6.00 ms"), picture.find("forward 0, 2.00 ms"));
  EXPECT_EQ(count(picture, ">pagerank</text>"), 1u);
  EXPECT_EQ(count(picture, ">iteration 1</text>"), 2u);
}

TEST(Timeline, BothLanesShareOneScale) {
  timeline drawn = example();
  drawn.with.spans.push_back({kind::forward, 12'000'000, 12'000'000, ""});
  std::string const picture = timeline_svg(drawn);
  EXPECT_EQ(count(picture, "<title>backward 0, 4.00 ms, from 8.00 ms</title>"), 2u);
  EXPECT_EQ(count(picture, "width=\"192\" height=\"64\" fill=\"#0b5a8f\""), 2u);  // 4 of 24 ms
}

TEST(Timeline, AxisTakesTheUnitThatFits) {
  auto const axis = [](std::int64_t length_ns) {
    timeline drawn;
    drawn.without.spans = {{kind::forward, 0, length_ns, ""}};
    std::string const picture = timeline_svg(drawn);
    for (std::string unit : {"ns", "µs", "ms", "s"}) {
      if (contains(picture, ">0 " + unit + "</text>")) return unit;
    }
    return std::string{"none"};
  };
  EXPECT_EQ(axis(900), "ns");
  EXPECT_EQ(axis(900'000), "µs");
  EXPECT_EQ(axis(66'000'000), "ms");
  EXPECT_EQ(axis(9'000'000'000), "s");
}

TEST(Timeline, WhatWasNotMeasuredIsNotSaid) {
  timeline drawn = example();
  drawn.harvest_ratio.reset();
  drawn.ci95_pct.reset();
  drawn.slowdown_pct = -0.5;
  std::string picture = timeline_svg(drawn);
  EXPECT_TRUE(contains(picture, ">Training took 0.50 % less time</text>"));
  EXPECT_TRUE(contains(picture, "has no interval"));
  drawn.slowdown_pct.reset();
  picture = timeline_svg(drawn);
  EXPECT_TRUE(contains(picture, ">Training without and with side work</text>"));
  EXPECT_FALSE(contains(picture, "slowdown"));
}

TEST(Timeline, CpuTimeIsMarked) {
  timeline drawn = example();
  drawn.cpu_time = true;
  EXPECT_EQ(count(timeline_svg(drawn), "CPU threads that stand for a GPU"), 2u);  // seen and read aloud
}

TEST(Timeline, NothingIsAPictureToo) { EXPECT_EQ(malformed(timeline_svg(timeline{})), ""); }

TEST(Timeline, TooManySpansAreCutInBothLanesAtOneTimeAndItIsSaid) {
  timeline drawn = example();
  drawn.with.spans.clear();
  for (int i = 0; i < 5000; ++i) drawn.with.spans.push_back({kind::forward, i * 1000, 1000, ""});
  std::string const picture = timeline_svg(drawn);
  EXPECT_EQ(count(picture, "<title>forward, 1000.0 ns"), 4000u);
  EXPECT_EQ(count(picture, "<title>bubble, 6.00 ms"), 1u);   // begins before the cut at 4 ms
  EXPECT_EQ(count(picture, "<title>backward 0, 4.00"), 0u);  // after it
  EXPECT_TRUE(contains(picture, "the rest is not drawn"));
  EXPECT_FALSE(contains(timeline_svg(example()), "the rest is not drawn"));
  EXPECT_EQ(count(picture, "width=\"1152\" height=\"64\" fill=\"url"), 0u);
  EXPECT_EQ(count(picture, "<rect x=\"600\" y=\"150\" width=\"576\" height=\"64\" fill=\"url(#idle)\""),
            1u);  // cut at the end
}

TEST(Timeline, LongAndOddTextsStayInside) {
  timeline drawn = example();
  drawn.subtitle = "<graph> " + std::string(400, 'x') + " end";
  drawn.with.spans.back().label = std::string(200, 'y');
  std::string const picture = timeline_svg(drawn);
  EXPECT_EQ(malformed(picture), "");
  EXPECT_TRUE(contains(picture, ">&lt;graph&gt; …</text>"));
  EXPECT_FALSE(contains(picture, ">" + std::string(200, 'y')));
}

TEST(Timeline, ImpossibleSpansAreRefused) {
  timeline drawn = example();
  drawn.with.spans[0].duration_ns = -1;
  EXPECT_THROW(timeline_svg(drawn), usage_error);
  drawn = example();
  drawn.without.spans[0].start_ns = -1;
  EXPECT_THROW(timeline_svg(drawn), usage_error);
}

}  // namespace
}  // namespace lull
