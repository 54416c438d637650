// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/host/report/bubble_writers.hpp>
#include <lull/host/report/time_text.hpp>
#include <lull/tests/host/report/bubbles.hpp>
#include <lull/tests/host/report/picture.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using json = nlohmann::json;

bubble_summary many(int bubbles) {
  bubble_summary sum;
  for (int i = 0; i < bubbles; ++i) sum.add(observed({.at = i * 1ms, .length = 100us}));
  return sum;
}

/// The words of the first line that begins with a word.
std::vector<std::string> line_of(std::string const& text, std::string const& first) {
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream split{line};
    std::vector<std::string> words;
    for (std::string word; split >> word;) words.push_back(word);
    if (!words.empty() && words[0] == first) return words;
  }
  return {};
}

using words = std::vector<std::string>;

TEST(bubble_text, a_table_for_each_gate) {
  std::string const text = bubble_text(two_gates());
  EXPECT_TRUE(contains(text, "gate 0: 11.5 % idle of 960.0 ms from its first opening to its last close\n")) << text;
  EXPECT_TRUE(contains(text, "gate 1: 0.02 % idle of 900.0 ms")) << text;
  EXPECT_EQ(line_of(text, "forward"), (words{"forward", "10", "1000.0", "µs", "1000.0", "µs", "10.0", "ms", "1.04", "%",
                                             "80.0", "%", "10.3", "ms/s", "98.7", "%"}));
  EXPECT_EQ(line_of(text, "backward"), (words{"backward", "10", "10.0", "ms", "10.0", "ms", "100.0", "ms", "10.4", "%",
                                              "100.0", "%", "104.0", "ms/s", "99.9", "%"}));
  EXPECT_TRUE(contains(text, "each bubble of 30.0 µs or more brought its length\nless 13.0 µs"));
  EXPECT_FALSE(contains(text, "unknown length"));
  EXPECT_FALSE(contains(text, "side work at"));
  EXPECT_FALSE(contains(text, "CPU threads"));
}

TEST(bubble_text, after_a_harvest_says_what_it_brought) {
  bubble_summary sum;
  sum.add(harvested({.site = "recv", .length = 1ms}));
  sum.add(observed({.site = "other", .at = 2ms, .length = 1ms}));
  std::string text = bubble_text(sum);
  text = text.substr(text.find("side work at"));
  EXPECT_EQ(line_of(text, "recv"), (words{"recv", "1", "1010.0", "µs", "101.0", "%", "1000", "100", "3"}));
  EXPECT_TRUE(line_of(text, "other").empty());
}

TEST(bubble_text, says_what_is_not_known_or_of_other_sites) {
  bubble_summary sum;
  sum.add(observed({.length = 0ns}));
  EXPECT_TRUE(contains(bubble_text(sum), "unknown length, in no figure above: 1\n"));
  EXPECT_EQ(line_of(bubble_text(sum), "recv"), (words{"recv", "0", "-", "-", "-", "-", "-", "-", "-"}));
  for (int i = 0; i < 300; ++i) sum.add(observed({.site = std::to_string(i), .length = 1ms}));
  EXPECT_TRUE(contains(bubble_text(sum), "(other sites)"));
  EXPECT_EQ(bubble_text(bubble_summary{}), "No bubble was seen.\n");
}

TEST(bubble_text, says_which_processors_are_reserved_and_why) {
  bubble_summary sum = two_gates();
  sum.tell({.processors = 8, .for_workers = 8});
  EXPECT_FALSE(contains(bubble_text(sum), "keeps off"));
  sum.tell({.processors = 132, .for_workers = 116});
  EXPECT_TRUE(contains(bubble_text(sum), "Side work keeps off 16 of 132 SMs.\n"));
  sum.tell({.processors = 132, .for_workers = 108, .raised = 1, .raised_at = "recv"});
  EXPECT_TRUE(
      contains(bubble_text(sum),
               "keeps off 24 of 132 SMs: since 1 time a kernel of training waited for it, last in\n'recv', 8 more"));
  json const told = json::parse(bubble_json(sum))["reserved"];
  EXPECT_EQ(told, (json{{"sms", 132}, {"for_workers", 108}, {"raised", 1}, {"raised_at", "recv"}}));
  EXPECT_TRUE(json::parse(bubble_json(two_gates()))["reserved"].is_null());
}

TEST(bubble_text, lines_are_short_whatever_a_site_is_called) {
  bubble_summary sum = two_gates({.cpu_time = true});
  sum.add(harvested(
      {.site = "a\nname \x1b[31m that goes on ééééééééééé and on and on", .at = 0ms, .length = 123'456'789us}));
  std::istringstream lines{bubble_text(sum)};
  std::string line;
  while (std::getline(lines, line)) {
    EXPECT_LE(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }), 100) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
  }
  EXPECT_TRUE(contains(bubble_text(sum), "  a?name ?[31m that g..."));
  EXPECT_TRUE(contains(bubble_text(sum), cpu_time_note));
}

TEST(bubble_json, has_every_figure) {
  json const all = json::parse(bubble_json(two_gates()));
  EXPECT_EQ(all["schema"], "lull.bubbles/1");
  EXPECT_EQ(all["time"], "device");
  EXPECT_EQ(all["percentile_error"], 1.0 / 128);
  EXPECT_EQ(all["assumed"], (json{{"worth_us", 30.0}, {"start_us", 6.0}, {"drain_us", 7.0}}));
  EXPECT_EQ(all["in_other_sites"], 0);
  ASSERT_EQ(all["gates"].size(), 2U);
  json const& gate = all["gates"][0];
  EXPECT_EQ(gate["gate"], 0);
  EXPECT_EQ(gate["observed_ms"], 960.0);
  EXPECT_EQ(gate["bubbles"], 20);
  EXPECT_EQ(gate["total_ms"], 110.0);
  EXPECT_NEAR(gate["share"], 110.0 / 960, 1e-12);
  EXPECT_EQ(gate["host_ahead"], 0.9);
  ASSERT_EQ(gate["sites"].size(), 2U);
  json const& site = gate["sites"][0];
  EXPECT_EQ(site["site"], "forward");
  EXPECT_EQ(site["bubbles"], 10);
  EXPECT_EQ(site["unknown_length"], 0);
  EXPECT_EQ(site["p50_us"], 1000.0);
  EXPECT_EQ(site["p99_us"], 1000.0);
  EXPECT_EQ(site["max_us"], 1000.0);
  EXPECT_EQ(site["total_ms"], 10.0);
  EXPECT_NEAR(site["share"], 10.0 / 960, 1e-12);
  EXPECT_EQ(site["host_ahead"], 0.8);
  EXPECT_EQ(site["harvest"]["worth_it"], 10);
  EXPECT_NEAR(site["harvest"]["gpu_ms"], 9.87, 1e-9);
  EXPECT_NEAR(site["harvest"]["gpu_ms_per_s"], 9.87 / 0.96, 1e-9);
  EXPECT_NEAR(site["harvest"]["share_of_idle"], 0.987, 1e-12);
  EXPECT_TRUE(site["side_work"].is_null());
  EXPECT_EQ(all["gates"][1]["sites"].size(), 1U);
}

TEST(bubble_json, what_is_not_known_is_null) {
  bubble_summary sum{{.cpu_time = true}};
  sum.add(observed({.site = "caf\xE9", .length = 0ns}));
  json const all = json::parse(bubble_json(sum));
  EXPECT_EQ(all["time"], "cpu");
  json const& site = all["gates"][0]["sites"][0];
  EXPECT_EQ(site["site"], "caf\uFFFD");
  EXPECT_EQ(site["unknown_length"], 1);
  for (char const* key : {"p50_us", "p99_us", "max_us", "share", "host_ahead", "side_work"})
    EXPECT_TRUE(site[key].is_null()) << key;
  EXPECT_TRUE(all["gates"][0]["observed_ms"].is_null());
  EXPECT_TRUE(json::parse(bubble_json(bubble_summary{}))["gates"].empty());
}

TEST(bubble_json, after_a_harvest_says_what_it_brought) {
  bubble_summary sum;
  sum.add(harvested({.length = 1ms}));
  json const all = json::parse(bubble_json(sum));
  EXPECT_EQ(all["gates"][0]["side_work"], (json{{"bubbles", 1},
                                                {"gpu_ms", 1.01},
                                                {"share_of_idle", 1.01},
                                                {"items", 1000},
                                                {"chunks", 100},
                                                {"handed_back", 3},
                                                {"lease_exits", 2}}));
}

TEST(bubble_trace, a_track_for_each_gate_and_its_workers) {
  bubble_summary sum = two_gates();
  sum.add(harvested({0, "forward", 1s, 2ms, true}));
  json const trace = json::parse(bubble_trace(sum));
  EXPECT_EQ(trace["otherData"]["time"], "device");
  EXPECT_EQ(trace["otherData"]["dropped_events"], 0);
  std::map<int, std::string> track;
  std::map<std::string, int> spans;
  json worker;
  json first;
  for (json const& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") track[event["tid"]] = event["args"]["name"];
    if (event["ph"] != "X") continue;
    if (first.is_null()) first = event;
    if (event["name"] == "worker") worker = event;
    ++spans[track[event["tid"]] + "/" + std::string{event["name"]}];
  }
  EXPECT_EQ(
      spans,
      (std::map<std::string, int>{
          {"gate 0/forward", 11}, {"gate 0/backward", 10}, {"gate 1/forward", 10}, {"gate 0: workers/worker", 1}}));
  EXPECT_EQ(first["ts"], 0.0);
  EXPECT_EQ(first["dur"], 1000.0);
  EXPECT_EQ(first["args"]["host ahead"], "no");
  EXPECT_EQ(worker["ts"], 1'000'010.0);
  EXPECT_EQ(worker["dur"], 2010.0);
  EXPECT_EQ(worker["args"]["us after the close"], 20.0);
}

TEST(bubble_trace, beyond_the_bound_the_earlier_are_counted) {
  json const trace = json::parse(bubble_trace(many(bubble_summary::max_latest + 7)));
  EXPECT_EQ(trace["otherData"]["dropped_events"], 7);
  EXPECT_EQ(std::count_if(trace["traceEvents"].begin(), trace["traceEvents"].end(),
                          [](json const& event) { return event["ph"] == "X"; }),
            static_cast<std::ptrdiff_t>(bubble_summary::max_latest));
}

TEST(bubble_timeline, bubbles_are_drawn_to_scale_in_their_gates_lane) {
  std::string const picture = bubble_timeline(two_gates());
  EXPECT_EQ(malformed(picture), "");
  EXPECT_TRUE(contains(picture, ">Idle 0.0 % to 11.5 % of the time, by gate</text>"));
  EXPECT_TRUE(contains(picture, ">All 30 bubbles, over 960.0 ms</text>"));
  EXPECT_TRUE(contains(picture, ">20 bubbles, 11.5 % of 960.0 ms; a harvest would bring 99.8 % of that</text>"));
  EXPECT_EQ(count(picture, "<title>backward, 10.0 ms, from "), 10U);
  EXPECT_EQ(count(picture, ", host late</title>"), 12U);
  // 960 ms take 1,152 px from x = 24 on: 50 ms are 60 px, and 10 ms 12.
  EXPECT_EQ(count(picture,
                  "<rect x=\"84\" y=\"140\" width=\"12\" height=\"48\" fill=\"#e69f00\"><title>backward, 10.0 ms, from "
                  "50.0 ms"),
            1U);
  EXPECT_EQ(count(picture, "y=\"232\" width=\"0.75\" height=\"48\" fill=\"#56b4e9\"><title>forward, 20.0 µs"), 10U);
  EXPECT_EQ(count(picture, ">forward</text>"), 1U);  // one entry in the legend for both gates
  EXPECT_FALSE(contains(picture, "side work"));
}

TEST(bubble_timeline, side_work_is_drawn_inside) {
  bubble_summary sum{{.cpu_time = true}};
  sum.add(harvested({.length = 1'132us}));  // 1,152 µs to the last block out
  std::string const picture = bubble_timeline(sum);
  EXPECT_EQ(malformed(picture), "");
  EXPECT_TRUE(contains(
      picture, "<rect x=\"34\" y=\"156\" width=\"1142\" height=\"16\" fill=\"#111111\"><title>side work</title>"));
  EXPECT_TRUE(contains(picture, ">side work</text>"));
  EXPECT_EQ(count(picture, std::string{cpu_time_note}), 2U);  // seen and read aloud
}

TEST(bubble_timeline, the_latest_are_drawn_and_the_rest_is_said) {
  std::string const picture = bubble_timeline(many(5000));
  EXPECT_EQ(count(picture, "<title>recv, "), 1000U);
  EXPECT_TRUE(contains(picture, ">The latest 1000 of 5000 bubbles, over 999.1 ms; the figures are of all</text>"));
}

TEST(bubble_timeline, nothing_and_odd_names_are_pictures_too) {
  EXPECT_EQ(malformed(bubble_timeline(bubble_summary{})), "");
  EXPECT_TRUE(contains(bubble_timeline(bubble_summary{}), ">No bubble of known length and moment was seen.</text>"));
  bubble_summary sum;
  for (int i = 0; i < 40; ++i) {
    std::string const name = "<" + std::to_string(i) + "> \xE9 " + std::string(300, 'x');
    sum.add(observed({static_cast<std::uint32_t>(i), name, i * 1ms, 1ms, {}}));
  }
  std::string const picture = bubble_timeline(sum);
  EXPECT_EQ(malformed(picture), "");
  EXPECT_TRUE(contains(picture, ">32 further sites</text>"));
  EXPECT_TRUE(contains(picture, ">gate 7</text>"));
  EXPECT_FALSE(contains(picture, ">gate 8</text>"));
  EXPECT_TRUE(contains(picture, ">The latest 8 of 40 bubbles"));
}

TEST(bubble_timeline, a_long_name_is_cut_between_two_characters) {
  bubble_summary sum;
  sum.add(observed({.site = std::string(31, 'x') + "µµ", .length = 1ms}));
  EXPECT_TRUE(contains(bubble_timeline(sum), ">" + std::string(31, 'x') + " …</text>"));
}

class bubble_file : public testing::Test {
 protected:
  std::string written(std::string const& name) {
    write_bubble_report(folder_ / name, two_gates());
    return read_file(folder_ / name, 1 << 20);
  }

  test::test_folder files_;
  std::filesystem::path const folder_ = files_.path();
};

TEST_F(bubble_file, the_ending_picks_the_format) {
  bubble_summary const sum = two_gates();
  EXPECT_EQ(written("bubbles.txt"), bubble_text(sum));
  EXPECT_EQ(written("bubbles.json"), bubble_json(sum));
  EXPECT_EQ(written("bubbles.trace.json"), bubble_trace(sum));
  EXPECT_EQ(written("bubbles.svg"), bubble_timeline(sum));
}

TEST_F(bubble_file, any_other_ending_is_refused_with_those_known) {
  for (std::string const name : {"bubbles", "bubbles.csv", ".svg", "bubbles.SVG", "svg", "bubbles.json.gz", ""}) {
    try {
      write_bubble_report(folder_ / name, two_gates());
      ADD_FAILURE() << name;
    } catch (usage_error const& problem) {
      for (std::string const ending : {".txt", ".json", ".trace.json", ".svg"})
        EXPECT_TRUE(contains(problem.what(), ending));
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace lull
