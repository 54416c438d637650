// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/host/report/trace.hpp>

namespace lull {
namespace {

using json = nlohmann::json;

// Those that are no metadata.
std::vector<json> things(json const& trace) {
  std::vector<json> result;
  for (json const& event : trace["traceEvents"]) {
    if (event["ph"] != "M") result.push_back(event);
  }
  return result;
}

TEST(trace, spans_instants_and_tracks) {
  std::vector<trace_event> const events{
      {"training", "forward", 1'000'002'000, 2'000'000, {{"microbatch", std::int64_t{3}}}},
      {"workers", "pagerank", 1'000'000'005, 1'234'567, {{"share", 0.5}, {"task", std::string{"page \"rank\""}}}},
      {"yields", "yield", 1'000'001'000, 0, {}},
      {"training", "backward", 1'002'002'000, 4'000'000, {}}};
  json const trace = json::parse(trace_json(events, {.process = "stage 0", .time = "cpu"}));
  EXPECT_EQ(trace["displayTimeUnit"], "ns");
  EXPECT_EQ(trace["otherData"]["time"], "cpu");
  EXPECT_EQ(trace["otherData"]["dropped_events"], 0);

  std::vector<json> const drawn = things(trace);
  ASSERT_EQ(drawn.size(), 4u);
  EXPECT_EQ(drawn[0]["name"], "pagerank");
  EXPECT_EQ(drawn[0]["ph"], "X");
  EXPECT_EQ(drawn[0]["ts"], 0.0);
  EXPECT_EQ(drawn[0]["dur"], 1234.567);
  EXPECT_EQ(drawn[0]["args"]["share"], 0.5);
  EXPECT_EQ(drawn[0]["args"]["task"], "page \"rank\"");
  EXPECT_EQ(drawn[1]["ph"], "i");
  EXPECT_EQ(drawn[1]["s"], "t");
  EXPECT_EQ(drawn[1]["ts"], 0.995);
  EXPECT_FALSE(drawn[1].contains("dur"));
  EXPECT_EQ(drawn[2]["args"]["microbatch"], 3);
  EXPECT_EQ(drawn[2]["ts"], 1.995);

  std::map<std::string, int> track_of;
  for (json const& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") track_of[event["args"]["name"]] = event["tid"];
    if (event["name"] == "process_name") {
      EXPECT_EQ(event["args"]["name"], "stage 0");
    }
  }
  EXPECT_EQ(track_of, (std::map<std::string, int>{{"training", 1}, {"workers", 2}, {"yields", 3}}));
  EXPECT_EQ(drawn[0]["tid"], 2);
  EXPECT_EQ(drawn[3]["tid"], 1);
}

TEST(trace, above_the_limit_the_earliest_stay_and_the_rest_is_counted) {
  std::vector<trace_event> events;
  for (int i = 0; i < 10; ++i) events.push_back({"bubbles", std::to_string(i), 1000 - i, 1, {}});
  json const trace = json::parse(trace_json(events, {.max_events = 3, .dropped = 100}));
  EXPECT_EQ(trace["otherData"]["dropped_events"], 107);
  std::vector<json> const drawn = things(trace);
  ASSERT_EQ(drawn.size(), 3u);
  EXPECT_EQ(drawn[0]["name"], "9");
  EXPECT_EQ(drawn[2]["name"], "7");
}

TEST(trace, nothing_is_a_valid_trace_too) {
  EXPECT_TRUE(things(json::parse(trace_json({}, {}))).empty());
  std::vector<trace_event> const one{{"bubbles", "bubble", 5, 1, {}}};
  EXPECT_TRUE(things(json::parse(trace_json(one, {.max_events = 0}))).empty());
}

TEST(trace, nanoseconds_survive_long_traces) {
  constexpr std::int64_t hours = 3'600'000'000'000ll * 10;
  std::vector<trace_event> const events{{"a", "first", 0, 1, {}}, {"a", "last", hours + 1, 32, {}}};
  std::string const text = trace_json(events, {});
  EXPECT_NE(text.find("\"ts\":36000000000.001"), std::string::npos) << text;
  EXPECT_NE(text.find("\"dur\":0.032"), std::string::npos) << text;
}

TEST(trace, odd_names_and_figures_stay_json) {
  std::vector<trace_event> const events{
      {"a\nb", "caf\xE9 \"x\" \\", 0, 1, {{"k\"", std::numeric_limits<double>::quiet_NaN()}}}};
  json const trace = json::parse(trace_json(events, {}));
  EXPECT_TRUE(things(trace)[0]["args"]["k\""].is_null());
}

TEST(trace, an_event_that_ends_before_it_starts_is_refused) {
  std::vector<trace_event> const events{{"a", "b", 0, -1, {}}};
  EXPECT_THROW(trace_json(events, {}), usage_error);
}

}  // namespace
}  // namespace lull
