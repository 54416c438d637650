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
#include <lull/tests/host/report/contains.hpp>
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
                                             "80.0", "%", "10.2", "ms/s", "98.3", "%"}));
  EXPECT_EQ(line_of(text, "backward"), (words{"backward", "10", "10.0", "ms", "10.0", "ms", "100.0", "ms", "10.4", "%",
                                              "100.0", "%", "104.0", "ms/s", "99.8", "%"}));
  EXPECT_FALSE(contains(text, "unknown length"));
  EXPECT_FALSE(contains(text, "side work at"));
  EXPECT_FALSE(contains(text, "CPU threads"));
}

TEST(bubble_text, one_site_is_shown_once) {
  EXPECT_TRUE(contains(bubble_text(two_gates()), "\n  (all) "));  // of gate 0, which has two
  bubble_summary sum;
  sum.add(observed({.length = 1ms}));
  EXPECT_FALSE(contains(bubble_text(sum), "(all)"));
}

TEST(bubble_text, a_legend_says_what_its_words_mean) {
  std::string text = flowing(bubble_text(two_gates()));
  for (char const* each :
       {"site a bubble's place in the step", "a bubble is idle time on a trainer's stream",
        "harvest GPU time in a second that side work would get on the SMs that workers may use: of each bubble of 30.0 "
        "µs or more its length, less 17.0 µs for start and drain",
        "count, total bubbles, and their lengths added up", "p50, p99 within 0.8 %"}) {
    EXPECT_TRUE(contains(text, each)) << each << '\n' << text;
  }
  EXPECT_FALSE(contains(text, "handed back"));
  EXPECT_FALSE(contains(text, "- not known"));
  bubble_summary sum;
  sum.add(harvested({.length = 1ms}));
  text = flowing(bubble_text(sum));
  for (char const* each : {"GPU time of side work, from a block's first chunk", "- not known",
                           "handed back chunks given up unfinished when the bubble closed"})
    EXPECT_TRUE(contains(text, each)) << each << '\n' << text;
}

TEST(bubble_text, speaks_of_no_gpu_where_threads_stand_for_one) {
  bubble_summary sum{{.cpu_time = true}};
  sum.add(harvested({.length = 1ms}));
  std::string text = bubble_text(sum);
  text = text.substr(text.find("gate 0"));
  EXPECT_FALSE(contains(text, "GPU")) << text;
  EXPECT_FALSE(contains(text, "SMs")) << text;
  EXPECT_TRUE(contains(flowing(text), "side work at bubbles time of idle")) << text;
}

/// The last line, or more where it is long.
std::string closing_of(bubble_summary const& sum) {
  std::string const text = bubble_text(sum);
  return flowing(text.substr(text.rfind("\n\n") + 2));
}

TEST(bubble_text, ends_with_a_sentence_on_what_happened) {
  EXPECT_EQ(closing_of(two_gates()),
            "The trainer's streams were idle 0.02 % to 11.5 % of the time; no side work ran. It could have used 99.5 % "
            "of the idle GPU time. ");
  bubble_summary sum;
  sum.add(harvested({.at = 0ms, .length = 2ms}));
  sum.add(observed({.at = 4ms, .length = 1ms, .host_ahead = true}));
  sum.add(observed({.gate = 1, .at = 0ms, .length = 2ms}));
  EXPECT_EQ(closing_of(sum),
            "The trainer's streams were idle 60.0 % to 100.0 % of the time; side work used 40.2 % of the idle GPU "
            "time, in 1 of 3 bubbles. ");
}

TEST(bubble_text, its_closing_sentence_claims_no_more_than_is_known) {
  bubble_summary all{{.cpu_time = true}};
  all.add(harvested({.length = 1ms}));
  EXPECT_EQ(
      closing_of(all),
      "The trainer's stream was idle 100.0 % of the time; side work used all of the idle time, in 1 of 1 bubble. ");
  bubble_summary unknown;
  unknown.add(observed({.length = 0ns}));
  EXPECT_EQ(closing_of(unknown), "No bubble's length is known; no side work ran. ");
  unknown.add(harvested({.length = 0ns}));
  EXPECT_EQ(closing_of(unknown), "No bubble's length is known; side work ran in 1 of 2 bubbles. ");
  bubble_summary brief;
  brief.add(observed({.length = 20us}));
  EXPECT_EQ(closing_of(brief),
            "The trainer's stream was idle 100.0 % of the time; no side work ran. No bubble was long enough for it "
            "(30.0 µs). ");
}

TEST(bubble_text, a_share_above_a_hundred_percent_has_its_reason_beside_it) {
  bubble_summary sum;
  sum.add(harvested({.site = "recv", .length = 1ms}));
  std::string const text = bubble_text(sum);
  EXPECT_TRUE(contains(text, "101.0 %"));
  std::string const row = text.substr(text.find("side work at"));
  EXPECT_TRUE(contains(row, "3\n    above 100 %: blocks count until they are out, which is after the close\n")) << row;
  EXPECT_FALSE(contains(bubble_text(two_gates()), "above 100 %"));
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
  EXPECT_EQ(all["schema"], "lull.bubbles/2");
  EXPECT_EQ(all["time"], "device");
  EXPECT_EQ(all["percentile_error"], 1.0 / 128);
  EXPECT_EQ(all["assumed"], (json{{"worth_us", 30.0}, {"start_us", 9.0}, {"drain_us", 8.0}}));
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
  EXPECT_NEAR(site["harvest"]["gpu_ms"], 9.83, 1e-9);
  EXPECT_NEAR(site["harvest"]["gpu_ms_per_s"], 9.83 / 0.96, 1e-9);
  EXPECT_NEAR(site["harvest"]["share_of_idle"], 0.983, 1e-12);
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
                                                {"lease_exits", 2},
                                                {"waited_ms", 0.25}}));
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
  EXPECT_EQ(spans,
            (std::map<std::string, int>{
                {"gate 0: 21 bubbles, idle 11.2 % of 1002.0 ms; a harvest would bring 99.7 % of that/forward", 11},
                {"gate 0: 21 bubbles, idle 11.2 % of 1002.0 ms; a harvest would bring 99.7 % of that/backward", 10},
                {"gate 1: 10 bubbles, idle 0.02 % of 900.0 ms; a harvest would bring 0.00 % of that/forward", 10},
                {"gate 0: side work/worker", 1}}));
  EXPECT_EQ(first["ts"], 0.0);
  EXPECT_EQ(first["dur"], 1000.0);
  EXPECT_EQ(first["args"]["host ahead"], "no");
  EXPECT_EQ(worker["ts"], 1'000'010.0);
  EXPECT_EQ(worker["dur"], 2010.0);
  EXPECT_EQ(worker["args"]["us after the close"], 20.0);
}

std::string title_of(json const& trace) {
  for (json const& event : trace["traceEvents"]) {
    if (event["name"] == "process_name") return event["args"]["name"];
  }
  return "none";
}

TEST(bubble_trace, its_title_says_which_bubbles_are_shown_and_whose_time_it_is) {
  EXPECT_EQ(title_of(json::parse(bubble_trace(two_gates()))), "lull: all 30 bubbles");
  EXPECT_EQ(title_of(json::parse(bubble_trace(two_gates({.cpu_time = true})))),
            "lull: all 30 bubbles. " + std::string{cpu_time_note});
  EXPECT_EQ(title_of(json::parse(bubble_trace(bubble_summary{}))),
            "lull: no bubble of known length and moment was seen");
}

TEST(bubble_trace, beyond_the_bound_the_earlier_are_counted) {
  json const trace = json::parse(bubble_trace(many(bubble_summary::max_latest + 7)));
  EXPECT_EQ(trace["otherData"]["dropped_events"], 7);
  EXPECT_EQ(title_of(trace), "lull: the latest 65536 of 65543 bubbles; the figures are of all");
  EXPECT_EQ(std::count_if(trace["traceEvents"].begin(), trace["traceEvents"].end(),
                          [](json const& event) { return event["ph"] == "X"; }),
            static_cast<std::ptrdiff_t>(bubble_summary::max_latest));
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
}

TEST_F(bubble_file, any_other_ending_is_refused_with_those_known) {
  for (std::string const name : {"bubbles", "bubbles.csv", ".txt", "bubbles.TXT", "txt", "bubbles.json.gz", ""}) {
    try {
      write_bubble_report(folder_ / name, two_gates());
      ADD_FAILURE() << name;
    } catch (usage_error const& problem) {
      for (std::string const ending : {".txt", ".json", ".trace.json"}) EXPECT_TRUE(contains(problem.what(), ending));
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(bubble_file, a_timeline_in_svg_is_refused_with_what_to_write_instead) {
  for (std::string const name : {"bubbles.svg", "bubbles.trace.svg"}) {
    try {
      write_bubble_report(folder_ / name, two_gates());
      ADD_FAILURE() << name;
    } catch (usage_error const& problem) {
      EXPECT_TRUE(contains(problem.what(), name)) << problem.what();
      EXPECT_TRUE(contains(problem.what(), "write '" + (folder_ / "bubbles.trace.json").string() +
                                               "' and open it at https://ui.perfetto.dev"))
          << problem.what();
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace lull
