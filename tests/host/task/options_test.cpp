// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include <lull/host/error.hpp>
#include <lull/host/io/units.hpp>
#include <lull/host/task/options.hpp>
#include <lull/host/task/task_request.hpp>
#include <lull/tests/support/message_of.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr option rank_options[] = {
    {"graph", option_kind::path, "", "", "graph to rank"},
    {"damping", option_kind::real, "0.85", "[0, 1)", "share of rank that follows edges"},
    {"tolerance", option_kind::real, "1e-6", "(0, inf)", "stop below this change"},
    {"sweeps", option_kind::integer, "100", "[1, 1000000]", "stop after so many sweeps"},
    {"memory", option_kind::size, "1GiB", "[1KiB, 4GiB]", "memory to use"},
    {"order", option_kind::choice, "natural", "natural|degree|random", "order of the vertices"},
    {"names", option_kind::path, "", "", "names of the vertices"},
};
constexpr option no_options[] = {{"steps", option_kind::integer, "1", "[1, 9]", "steps to take"}};
constexpr task_options tasks[] = {{"pagerank", "importance of vertices", rank_options},
                                  {"spin", "arithmetic", no_options}};

std::string parse_message(std::string const& text) {
  return message_of<usage_error>([&] { parse_task(text, tasks); });
}

TEST(units, durations_in_every_unit) {
  EXPECT_EQ(parse_duration("2ms"), 2ms);
  EXPECT_EQ(parse_duration("100us"), 100us);
  EXPECT_EQ(parse_duration("1.5s"), 1500ms);
  EXPECT_EQ(parse_duration("500ns"), 500ns);
  EXPECT_EQ(parse_duration("30min"), 30min);
  EXPECT_EQ(parse_duration("1.5h"), 90min);
  EXPECT_EQ(parse_duration("7d"), 168h);
  EXPECT_EQ(parse_duration("0"), 0ns);
  EXPECT_EQ(parse_duration(".5us"), 500ns);
}

TEST(units, sizes_in_every_unit) {
  EXPECT_EQ(parse_size("4GiB"), 4ull << 30);
  EXPECT_EQ(parse_size("512MiB"), 512ull << 20);
  EXPECT_EQ(parse_size("1000"), 1000u);
  EXPECT_EQ(parse_size("1.5KiB"), 1536u);
  EXPECT_EQ(parse_size("2KB"), 2000u);
  EXPECT_EQ(parse_size("18446744073709551615"), 18446744073709551615ull);
}

TEST(units, what_is_no_quantity_is_refused) {
  for (char const* text : {"", "ms", "2", "2 ms", "2m", "-2ms", "1e3ms", "infs", "nan", "0x2ms", "2msec", "1e30s"}) {
    EXPECT_THROW(parse_duration(text), usage_error) << text;
  }
  for (char const* text :
       {"", "GiB", "-1", "1.5", "4gib", "1 GiB", "9999999TiB", "18446744073709551616", "0.3B", "inf"}) {
    EXPECT_THROW(parse_size(text), usage_error) << text;
  }
  for (char const* text : {"", "1.5", "x", "1x", " 1", "9223372036854775808"}) {
    EXPECT_THROW(parse_integer(text), usage_error) << text;
  }
  for (char const* text : {"", "inf", "nan", "1e999", "1,5", "x"}) EXPECT_THROW(parse_real(text), usage_error) << text;
}

TEST(units, printed_as_they_are_read) {
  EXPECT_EQ(format_duration(1500ms), "1.5s");
  EXPECT_EQ(format_duration(90min), "5400s");
  EXPECT_EQ(format_duration(100us), "100us");
  EXPECT_EQ(format_duration(1000001ns), "1.000001ms");
  EXPECT_EQ(format_duration(0ns), "0");
  for (auto duration : {1ns, 999ns, 1001ns, 59999999999ns}) {
    EXPECT_EQ(parse_duration(format_duration(duration)), duration);
  }
}

TEST(options, defaults_of_every_kind) {
  option_values const values(rank_options);
  EXPECT_FALSE(values.has("graph"));
  EXPECT_DOUBLE_EQ(values.real("damping"), 0.85);
  EXPECT_EQ(values.integer("sweeps"), 100);
  EXPECT_EQ(values.size_bytes("memory"), 1ull << 30);
  EXPECT_EQ(values.choice("order"), "natural");
  EXPECT_TRUE(values.has("damping"));
  EXPECT_FALSE(values.given("damping"));
}

TEST(options, given_is_told_from_default) {
  option_values values(rank_options);
  values.set("damping", "0.85");
  EXPECT_TRUE(values.given("damping"));
  EXPECT_FALSE(values.given("sweeps"));
  EXPECT_THROW(values.set("damping", "0.85"), usage_error);
}

TEST(options, asking_for_another_kind_or_for_nothing_is_an_error) {
  option_values const values(rank_options);
  EXPECT_THROW(values.integer("damping"), usage_error);
  EXPECT_THROW(values.path("graph"), usage_error);
  EXPECT_THROW(values.choice("sweeps"), usage_error);
  EXPECT_THROW(values.real("nothing"), usage_error);
}

TEST(options, ranges_hold_at_their_ends) {
  auto const takes = [](char const* name, char const* text) {
    option_values values(rank_options);
    try {
      values.set(name, text);
      return true;
    } catch (usage_error const&) {
      return false;
    }
  };
  EXPECT_TRUE(takes("damping", "0"));
  EXPECT_FALSE(takes("damping", "1"));
  EXPECT_FALSE(takes("damping", "-0.1"));
  EXPECT_FALSE(takes("tolerance", "0"));
  EXPECT_TRUE(takes("tolerance", "1e300"));
  EXPECT_TRUE(takes("sweeps", "1000000"));
  EXPECT_FALSE(takes("sweeps", "1000001"));
  EXPECT_TRUE(takes("memory", "1024"));
  EXPECT_FALSE(takes("memory", "1023"));
  EXPECT_FALSE(takes("memory", "4097MiB"));
  EXPECT_FALSE(takes("order", "degrees"));
}

TEST(options, no_value_is_refused_for_every_kind) {
  option_values values(rank_options);
  for (char const* name : {"graph", "damping", "sweeps", "memory", "order"}) {
    std::string const message = message_of<usage_error>([&] { values.set(name, ""); });
    EXPECT_NE(message.find(std::string{") has no value: write "} + name + "=VALUE"), std::string::npos) << message;
    EXPECT_FALSE(values.given(name));
  }
}

TEST(options, out_of_range_says_the_range) {
  option_values values(rank_options);
  std::string const message = message_of<usage_error>([&] { values.set("damping", "1.5"); });
  EXPECT_EQ(message, "option \"damping\" (real): 1.5 is out of range: it must be at least 0 and below 1");
}

TEST(options, tables_are_checked) {
  auto const refused = [](option row) {
    option const table[] = {row};
    try {
      check_options(table);
      return false;
    } catch (usage_error const&) {
      return true;
    }
  };
  EXPECT_FALSE(refused({"a", option_kind::integer, "1", "[1, 2]", "help"}));
  EXPECT_TRUE(refused({"A", option_kind::integer, "1", "", "help"}));
  EXPECT_TRUE(refused({"", option_kind::integer, "1", "", "help"}));
  EXPECT_TRUE(refused({"a", option_kind::integer, "1", "", ""}));
  EXPECT_TRUE(refused({"a", option_kind::integer, "3", "[1, 2]", "help"}));
  EXPECT_TRUE(refused({"a", option_kind::integer, "", "[2, 1]", "help"}));
  EXPECT_TRUE(refused({"a", option_kind::integer, "", "1..2", "help"}));
  EXPECT_TRUE(refused({"a", option_kind::size, "", "[1ms, 2ms]", "help"}));
  EXPECT_TRUE(refused({"a", option_kind::path, "", "[1, 2]", "help"}));
  EXPECT_TRUE(refused({"a", option_kind::choice, "", "", "help"}));
  option const twice[] = {{"a", option_kind::path, "", "", "help"}, {"a", option_kind::path, "", "", "help"}};
  EXPECT_THROW(check_options(twice), usage_error);
}

TEST(options, help_names_default_and_range_and_fits_the_width) {
  std::ostringstream out;
  print_tasks(out, tasks, 40);
  std::string const text = out.str();
  EXPECT_NE(text.find("pagerank: importance of vertices"), std::string::npos);
  EXPECT_NE(text.find("  order=natural|degree|random\n"), std::string::npos);
  EXPECT_NE(text.find("at least 0"), std::string::npos);
  EXPECT_NE(text.find("(default\n      0.85)"), std::string::npos) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 40u) << line;
}

TEST(task_text, name_alone) {
  task_request const request = parse_task("pagerank", tasks);
  EXPECT_EQ(request.name, "pagerank");
  EXPECT_FALSE(request.values.given("damping"));
}

TEST(task_text, options_quotes_and_blanks) {
  task_request const request =
      parse_task(R"(pagerank:graph="a, \"b\" \\.el", damping = 0.5 ,names='x,y\"z',order=degree)", tasks);
  EXPECT_EQ(request.values.path("graph"), R"(a, "b" \.el)");
  EXPECT_EQ(request.values.real("damping"), 0.5);
  EXPECT_EQ(request.values.path("names"), R"(x,y\"z)");
  EXPECT_EQ(request.values.choice("order"), "degree");
}

TEST(task_text, colons_equals_and_quotes_inside_a_value_stand_for_themselves) {
  EXPECT_EQ(parse_task(R"(pagerank:graph=C:\a=b's".el)", tasks).values.path("graph"), R"(C:\a=b's".el)");
}

TEST(task_text, errors_name_the_column_and_the_known_names_nearest_first) {
  EXPECT_EQ(parse_message("pagerenk:damping=1"),
            "task 'pagerenk:damping=1', column 1: unknown task \"pagerenk\"; known: pagerank, spin");
  EXPECT_EQ(parse_message("spim"), "task 'spim', column 1: unknown task \"spim\"; known: spin, pagerank");
  EXPECT_EQ(parse_message("pagerank:sweeps=3,sweps=4"),
            "task 'pagerank:sweeps=3,sweps=4', column 19: unknown option \"sweps\"; known: sweeps, graph, damping, "
            "tolerance, memory, order, names");
  EXPECT_EQ(parse_message("pagerank:order=degre"),
            "task 'pagerank:order=degre', column 10: option \"order\" (choice): \"degre\" is not one of degree, "
            "natural, random");
}

TEST(task_text, malformed_text_is_refused_with_its_column) {
  EXPECT_NE(parse_message("").find("name is missing; known: "), std::string::npos);
  EXPECT_NE(parse_message(":damping=1").find("column 1: the task's name is missing"), std::string::npos);
  EXPECT_NE(parse_message("spin:").find("column 6: an option is missing"), std::string::npos);
  EXPECT_NE(parse_message("spin:steps=1,").find("column 14: an option is missing"), std::string::npos);
  EXPECT_NE(parse_message("spin:,steps=1").find("column 6: an option is missing"), std::string::npos);
  EXPECT_NE(parse_message("spin:=1").find("column 6: an option is missing"), std::string::npos);
  for (std::string const text : {"spin:steps", "spin:steps=", "spin:steps=\"\""}) {
    EXPECT_NE(parse_message(text).find("column 6: option \"steps\" (integer) has no value: write steps=VALUE"),
              std::string::npos)
        << text;
  }
  EXPECT_NE(parse_message("spin:stepz").find("column 6: unknown option \"stepz\"; known: steps"), std::string::npos);
  EXPECT_NE(parse_message("spin:steps=1,steps=1").find("column 14: option \"steps\" is given twice"),
            std::string::npos);
  EXPECT_NE(parse_message("pagerank:names=\"ab").find("column 16: the quote \" is not closed"), std::string::npos);
  EXPECT_NE(parse_message("pagerank:names=\"ab\\").find("column 19: a backslash in double quotes"), std::string::npos);
  EXPECT_NE(parse_message(R"(pagerank:names="a\n")").find("column 18: a backslash in double quotes"),
            std::string::npos);
  EXPECT_NE(parse_message("pagerank:names='ab'c").find("column 20: a closing quote must precede"), std::string::npos);
  EXPECT_NE(parse_message(std::string(70000, 'x')).find("is longer than"), std::string::npos);
}

/// As where a shell took the only quotes of names='a,b,c'.
TEST(task_text, a_value_with_commas_without_quotes_is_told_how_to_quote_it) {
  std::string const hint = "quote a value with commas twice, as a shell takes one pair: \"…names='a,b,c'\"";
  for (std::string const text : {"pagerank:names=user,item,rating", "pagerank:sweeps=3,names=1,2",
                                 "pagerank:names=a, b", "pagerank:names=user,sweeps", "pagerank:names='user',item"})
    EXPECT_NE(parse_message(text).find(hint), std::string::npos) << parse_message(text);
  for (std::string const text : {"pagerank:item", "pagerank:names=a,item=b", "spin:steps", "pagerank:names=a,b=c,d=e",
                                 "spin:steps=1,item", "pagerank:sweeps=3,item"})
    EXPECT_EQ(parse_message(text).find("quote"), std::string::npos) << parse_message(text);
  EXPECT_EQ(parse_task("pagerank:names='user,item,rating'", tasks).values.path("names"), "user,item,rating");
  auto const in_list = message_of<usage_error>([] { parse_task_list("spin,pagerank:names=user,item,rating", tasks); });
  EXPECT_NE(in_list.find(hint), std::string::npos) << in_list;
  auto const other = message_of<usage_error>([] { parse_task_list("pagerank:names=user;order,spin", tasks); });
  EXPECT_EQ(other.find("quote"), std::string::npos) << other;
}

std::vector<std::string> listed(std::string_view text) {
  std::vector<std::string> found;
  for (task_request const& each : parse_task_list(text, tasks)) found.push_back(format_task(each));
  return found;
}

TEST(task_list, tasks_between_commas_and_options_between_semicolons) {
  using found = std::vector<std::string>;
  EXPECT_EQ(listed("pagerank,spin"), (found{"pagerank", "spin"}));
  EXPECT_EQ(listed("pagerank:sweeps=7;memory=2KiB;order=degree,spin:steps=3"),
            (found{"pagerank:sweeps=7,memory=2KiB,order=degree", "spin:steps=3"}));
  EXPECT_EQ(listed(R"(pagerank:graph="a;b,c" ; names='x;y' , spin)"),
            (found{R"(pagerank:graph="a;b,c",names=x;y)", "spin"}));
  EXPECT_EQ(listed("spin,spin,"), (found{"spin", "spin"}));
  EXPECT_EQ(listed(""), found{});
}

TEST(task_list, malformed_text_is_refused_with_its_column) {
  auto const refused = [](std::string_view text) {
    return message_of<usage_error>([&] { parse_task_list(text, tasks); });
  };
  EXPECT_NE(refused("spin,spim").find("column 6: unknown task \"spim\"; known: spin"), std::string::npos)
      << refused("spin,spim");
  EXPECT_NE(refused("spin,,spin").find("column 6: the task's name is missing"), std::string::npos);
  EXPECT_NE(refused("pagerank:sweeps=7,order=random")
                .find("column 19: \"order=random\" is not a task: in a list ';' separates"),
            std::string::npos);
  EXPECT_NE(refused("pagerank:sweeps=7;").find("drop the semicolon or colon"), std::string::npos);
  EXPECT_NE(refused("pagerank:names='a'b,spin").find("a closing quote must precede a semicolon or the end"),
            std::string::npos);
  EXPECT_NE(refused("spin:steps=1;steps=2").find("column 14: option \"steps\" is given twice"), std::string::npos);
  std::string many = "spin";
  for (int i = 0; i < 1000; ++i) many += ",spin";
  EXPECT_NE(refused(many).find("more than 1000 tasks"), std::string::npos);
}

TEST(task_text, printed_and_read_back) {
  task_request const request = parse_task(R"(pagerank:graph="a,b\\ \"",sweeps=7,names=' x')", tasks);
  std::string const text = format_task(request);
  EXPECT_EQ(text, R"(pagerank:graph="a,b\\ \"",sweeps=7,names=" x")");
  EXPECT_EQ(format_task(parse_task(text, tasks)), text);
  EXPECT_EQ(format_task(parse_task("spin", tasks)), "spin");
  EXPECT_EQ(format_task(request, task_text::without_files), "pagerank:sweeps=7");
}

}  // namespace
}  // namespace lull
