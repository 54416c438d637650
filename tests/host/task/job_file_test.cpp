// SPDX-License-Identifier: Apache-2.0
// Job files: JSON with the names and options of tasks.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/task/options.hpp>
#include <lull/host/task/task_request.hpp>
#include <lull/tests/support/message_of.hpp>

namespace lull {
namespace {

constexpr option rank_options[] = {
    {"damping", option_kind::real, "0.85", "[0, 1)", "share of rank that follows edges"},
    {"sweeps", option_kind::integer, "100", "[1, 1000000]", "stop after so many sweeps"},
    {"memory", option_kind::size, "1GiB", "[1KiB, 4GiB]", "memory to use"},
    {"order", option_kind::choice, "natural", "natural|degree|random", "order of the vertices"},
};
constexpr option spin_options[] = {{"steps", option_kind::integer, "1", "[1, 9]", "steps to take"}};
constexpr task_options tasks[] = {{"pagerank", "importance of vertices", rank_options},
                                  {"spin", "arithmetic", spin_options}};

std::string json_message(std::string const& text) {
  return message_of<input_error>([&] { parse_job_file(text, "job.json", tasks); });
}

TEST(job_file, one_task_and_several) {
  auto const one = parse_job_file(R"({"options": {"damping": 0.5, "sweeps": 7, "memory": "2MiB"}, "task": "pagerank"})",
                                  "job.json", tasks);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].values.real("damping"), 0.5);
  EXPECT_EQ(one[0].values.integer("sweeps"), 7);
  EXPECT_EQ(one[0].values.size_bytes("memory"), 2u << 20);
  auto const two =
      parse_job_file(R"([{"task": "spin", "options": {"steps": 9}}, {"task": "spin"}])", "job.json", tasks);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].values.integer("steps"), 9);
  EXPECT_EQ(two[1].values.integer("steps"), 1);
}

TEST(job_file, a_number_with_a_point_or_an_exponent_may_be_whole) {
  auto const sweeps = [](std::string const& text) {
    return parse_job_file(R"({"task": "pagerank", "options": {"sweeps": )" + text + "}}", "job.json", tasks)
        .front()
        .values.integer("sweeps");
  };
  for (char const* text : {"1000", "1000.0", "1e3", "1E+3", "1.0e3", "100000e-2"})
    EXPECT_EQ(sweeps(text), 1000) << text;
  auto const sizes =
      parse_job_file(R"({"task": "pagerank", "options": {"memory": 2.048e3, "damping": 0.0}})", "job.json", tasks);
  EXPECT_EQ(sizes.front().values.size_bytes("memory"), 2048U);
  EXPECT_EQ(sizes.front().values.real("damping"), 0);
  for (char const* text : {"5.5", "1e-3", "1e300", "9007199254740993.0", "-1e3"}) {
    EXPECT_NE(json_message(R"({"task": "pagerank", "options": {"sweeps": )" + std::string{text} + "}}")
                  .find("option \"sweeps\" (integer)"),
              std::string::npos)
        << text;
  }
}

TEST(job_file, a_byte_order_mark_may_come_first_and_nowhere_else) {
  std::string const mark = "\xef\xbb\xbf";
  std::string const spin = R"({"task": "spin"})";
  EXPECT_EQ(parse_job_file(mark + spin, "job.json", tasks).size(), 1U);
  EXPECT_EQ(parse_job_file(mark + "\n[" + spin + "]", "job.json", tasks).size(), 1U);
  for (std::string const& text : {mark + mark + spin, "\n" + mark + spin, spin + mark, "[" + mark + spin + "]", mark})
    EXPECT_NE(json_message(text).find("is not JSON"), std::string::npos) << text;
}

TEST(job_file, messages_hold_no_bytes_of_other_encodings) {
  using namespace std::string_literals;
  for (std::string const& text : {"\xff\xfe{\0}\0"s, "\xfe\xff\0{\0}"s, "\0\0\xfe\xff"s})
    EXPECT_EQ(json_message(text), "job.json: is text in UTF-16 or UTF-32: save it as UTF-8");
  for (std::string const& text : {R"({"task": "caf)"s + "\xe9\"}", "\xff"s, "{\x1b[31m"s, "\x1f\x8b\b"s, "{\"\x80"s}) {
    std::string const message = json_message(text);
    EXPECT_TRUE(message.starts_with("job.json:1: is not JSON: ")) << message;
    EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](char byte) { return byte >= ' ' && byte <= '~'; }))
        << message;
    EXPECT_EQ(message.find("exception"), std::string::npos) << message;
  }
  EXPECT_EQ(json_message(R"({"task": "spin", "options": {"steps": 1e400}})"),
            "job.json:1: is not JSON: number overflow parsing '1e400'");
}

TEST(job_file, nothing_after_a_zero_byte_is_ignored) {
  using namespace std::string_literals;
  std::string const spin = R"({"task": "spin"})";
  std::pair<std::string, std::string> const all[] = {{spin + "\0"s, "1"},
                                                     {spin + "\n\0garbage"s, "2"},
                                                     {"\0"s + spin, "1"},
                                                     {spin + "\n\n\0"s + spin, "3"},
                                                     {"{\"task\": \"sp\0in\"}"s, "1"},
                                                     {"\0"s, "1"}};
  for (auto const& [text, line] : all)
    EXPECT_EQ(json_message(text), "job.json:" + line + ": holds a zero byte: this is not a text file") << text;
  EXPECT_NE(json_message("<!doctype html>").find("is a web page"), std::string::npos);
}

TEST(job_file, says_what_to_write_in_place_of_true_and_null) {
  auto const of = [](std::string const& value) {
    return json_message(R"({"task": "spin", "options": {"steps": )" + value + "}}");
  };
  std::string const takes = "job.json:1: option \"steps\" takes a string or a number, not ";
  EXPECT_EQ(of("true"), takes + "true: write \"yes\" or \"no\"");
  EXPECT_EQ(of("false"), takes + "false: write \"yes\" or \"no\"");
  EXPECT_EQ(of("null"), takes + "null: leave it out");
  EXPECT_EQ(of("[1]"), takes + "an array");
}

TEST(job_file, errors_name_file_and_line) {
  EXPECT_EQ(json_message("{\n  \"task\": \"spim\"\n}"), "job.json:2: unknown task \"spim\"; known: spin, pagerank");
  EXPECT_EQ(json_message("{\"task\": \"spin\",\n \"options\": {\n  \"steps\":\n 10\n}}"),
            "job.json:3: option \"steps\" (integer): 10 is out of range: it must be at least 1 and at most 9");
  EXPECT_EQ(json_message("[{\"task\": \"spin\"},\n {\"task\": \"spin\",\n  \"options\": {\"stops\": 1}}]"),
            "job.json:3: unknown option \"stops\"; known: steps");
  EXPECT_EQ(json_message("{\"task\": \"spin\",\n\"options\": {\"steps\": 1,\n\"steps\": 1}}"),
            "job.json:3: \"steps\" is given twice");
  EXPECT_NE(json_message("[{\"task\": \"spin\"},\n{\"options\":\n{}}]").find("job.json:2: \"task\" is missing"),
            std::string::npos);
  EXPECT_NE(json_message("{\n\"task\": \"spin\",,\n}").find("job.json:2: is not JSON: "), std::string::npos);
}

TEST(job_file, what_is_no_task_is_refused) {
  EXPECT_NE(json_message("").find("is not JSON"), std::string::npos);
  EXPECT_NE(json_message("[]").find("has no task"), std::string::npos);
  EXPECT_NE(json_message("3").find("a job file holds"), std::string::npos);
  EXPECT_NE(json_message("[[]]").find("not an array"), std::string::npos);
  EXPECT_NE(json_message("[3]").find("not 3"), std::string::npos);
  EXPECT_NE(json_message("{}").find("\"task\" is missing"), std::string::npos);
  EXPECT_NE(json_message(R"([{"task": "spin"}, {}])").find("\"task\" is missing"), std::string::npos);
  EXPECT_NE(json_message(R"({"task": 3})").find("name is a string"), std::string::npos);
  EXPECT_NE(json_message(R"({"task": "spin", "task": "spin"})").find("is given twice"), std::string::npos);
  EXPECT_NE(json_message(R"({"task": "spin", "options": {}, "options": {}})").find("is given twice"),
            std::string::npos);
  EXPECT_NE(json_message(R"({"task": "spin", "extra": 1})").find("unknown key \"extra\""), std::string::npos);
  EXPECT_NE(json_message(R"({"task": "spin", "options": 1})").find("is an object"), std::string::npos);
  EXPECT_NE(json_message(R"({"task": "spin", "options": []})").find("is an object"), std::string::npos);
  EXPECT_NE(json_message(R"({"task": "spin", "options": {"steps": null}})").find("not null"), std::string::npos);
  EXPECT_NE(json_message(R"({"task": "spin", "options": {"steps": true}})").find("a string or a number, not true"),
            std::string::npos);
  EXPECT_NE(json_message(R"({"task": "spin", "options": {"steps": ""}})").find("has no value"), std::string::npos);
  EXPECT_NE(json_message(R"({"task": "spin", "options": {"steps": [1]}})").find("not an array"), std::string::npos);
  EXPECT_NE(json_message(R"({"task": "spin", "options": {"steps": {}}})").find("not an object"), std::string::npos);
  EXPECT_NE(json_message(R"({"task": "spin"} {"task": "spin"})").find("is not JSON"), std::string::npos);
  EXPECT_NE(json_message(R"({"task": "spin", "options": {"steps": 1e999}})").find("is not JSON"), std::string::npos);
  EXPECT_NE(json_message(std::string(1 << 20, '[')).find("is not JSON"), std::string::npos);
  std::size_t const half = 1 << 19;
  EXPECT_NE(json_message(std::string(half, '[') + std::string(half, ']')).find("not an array"), std::string::npos);
  EXPECT_NE(json_message(std::string(2 << 20, ' ')).find("larger than"), std::string::npos);
  EXPECT_THROW(read_job_file("/nonexistent/job.json", tasks), input_error);
}

TEST(job_file, truncated_anywhere_is_an_error) {
  std::string const whole = R"([{"task": "pagerank", "options": {"damping": 0.5, "order": "degree"}}])";
  ASSERT_EQ(parse_job_file(whole, "job.json", tasks).size(), 1u);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(parse_job_file(whole.substr(0, length), "job.json", tasks), input_error) << length;
  }
}

}  // namespace
}  // namespace lull
