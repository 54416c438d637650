// SPDX-License-Identifier: Apache-2.0
// How a text, a list and a job file name a task of a shared library. No library is opened: the test does the lookup.
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/task/task_request.hpp>
#include <lull/tests/support/message_of.hpp>

namespace lull {
namespace {

constexpr std::array mine_options{
    option{"steps", option_kind::integer, "1", "[1, 9]", "number of steps"},
    option{"out", option_kind::path, "", "", "file"},
};
constexpr std::array tasks{task_options{"spin", "a task", mine_options}};

/// A library of any path with one task.
task_options in_library(std::string const& path, std::string_view name) {
  if (name != "mine") throw usage_error{path + " has no task \"" + std::string{name} + "\""};
  return {"mine", "a task of a library", mine_options};
}

task_request parsed(std::string_view text) { return parse_task(text, tasks, in_library); }
std::string refused(std::string_view text) {
  return message_of<usage_error>([&] { parsed(text); });
}

void expect_says(std::string const& found, std::string const& expected) {
  EXPECT_NE(found.find(expected), std::string::npos) << '"' << found << '"';
}

TEST(library_text, is_a_path_a_colon_and_the_task) {
  for (char const* const text : {"./libmine.so:mine", "./libmine.so:mine,steps=3", "./libmine.so:mine:steps=3"}) {
    task_request const found = parsed(text);
    EXPECT_EQ(found.shared_library, "./libmine.so") << text;
    EXPECT_EQ(found.name, "mine") << text;
    EXPECT_EQ(found.values.integer("steps"), found.values.given("steps") ? 3 : 1) << text;
  }
  EXPECT_EQ(parsed("/a/b.so:mine").shared_library, "/a/b.so");
  EXPECT_EQ(parsed("sub/b.so : mine , steps = 4").shared_library, "sub/b.so");
  EXPECT_EQ(parsed("sub/b.so : mine , steps = 4").name, "mine");
  EXPECT_EQ(parsed("sub/b.so : mine , steps = 4").values.integer("steps"), 4);
  EXPECT_EQ(parsed("spin:out=a/b").shared_library, "");
}

TEST(library_text, its_options_take_any_value) {
  task_request const found = parsed(R"(./libmine.so:mine,out="a:b,c;d",steps=2)");
  EXPECT_EQ(found.values.path("out"), "a:b,c;d");
  EXPECT_EQ(found.values.integer("steps"), 2);
  EXPECT_EQ(parsed("./libmine.so:mine,out=a:b/c").values.path("out"), "a:b/c");
}

TEST(library_text, a_path_of_any_characters_is_quoted) {
  EXPECT_EQ(parsed(R"("./my, folder/a:b;c=\"d\".so":mine,steps=2)").shared_library, R"(./my, folder/a:b;c="d".so)");
  EXPECT_EQ(parsed("'./a\\b.so':mine").shared_library, "./a\\b.so");
  EXPECT_EQ(parsed("./with blanks/lib.so:mine").shared_library, "./with blanks/lib.so");
  expect_says(refused("\"./a.so:mine"), "column 1: the quote \" is not closed");
  expect_says(refused("\"./a.so\"x:mine"), "column 9: a closing quote must precede a colon");
}

TEST(library_text, each_error_knows_its_column) {
  EXPECT_EQ(refused("./libmine.so:other"), "task './libmine.so:other', column 1: ./libmine.so has no task \"other\"");
  for (char const* const text : {"./libmine.so", "./libmine.so:", "./libmine.so:,steps=3"})
    expect_says(refused(text), "./libmine.so has no task \"\"");
  expect_says(refused("./libmine.so:mine,"), "column 19: an option is missing");
  expect_says(refused("./libmine.so:mine,stops=3"), "column 19: unknown option \"stops\"; known: steps");
  expect_says(refused("libmine.so:mine"), "unknown task \"libmine.so\"; known: spin");
  expect_says(refused("libmine.so:mine"), "write its path with a '/', such as ./libmine.so");
  expect_says(refused("spin,out=a/b"), "unknown task \"spin,out=a/b\"");
  expect_says(message_of<usage_error>([] { parse_task("./libmine.so:mine", tasks); }),
              "column 1: libraries of tasks are not taken here");
}

TEST(library_text, printed_and_read_back) {
  for (char const* const text :
       {"./libmine.so:mine", "./libmine.so:mine,steps=3,out=a:b", R"("./a:b,c.so":mine,out="x,y")", "'./a\\:b.so':mine",
        R"("./a\"b:.so":mine)", "'a=b/c.so':mine", "'./a;b.so':mine,steps=3"}) {
    task_request const found = parsed(text);
    task_request const again = parsed(format_task(found));
    EXPECT_EQ(again.shared_library, found.shared_library) << text;
    EXPECT_EQ(format_task(again), format_task(found)) << text;
  }
  EXPECT_EQ(format_task(parsed("./libmine.so:mine:steps=3")), "./libmine.so:mine,steps=3");
  EXPECT_EQ(format_task(parsed("./libmine.so:mine,steps=3,out=f"), task_text::without_files), "mine:steps=3");
}

TEST(library_list, options_are_between_semicolons) {
  auto const found = parse_task_list(R"(spin:steps=2,./a.so:mine;steps=3;out=x,"./b,;:.so":mine,/c.so:mine:steps=4)",
                                     tasks, in_library);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[1].shared_library, "./a.so");
  EXPECT_EQ(found[1].values.integer("steps"), 3);
  EXPECT_EQ(found[1].values.path("out"), "x");
  EXPECT_EQ(found[2].shared_library, "./b,;:.so");
  EXPECT_EQ(found[3].shared_library, "/c.so");
  EXPECT_EQ(found[3].values.integer("steps"), 4);
  expect_says(message_of<usage_error>([] { parse_task_list("./a.so:mine,out=a/b", tasks, in_library); }),
              "column 13: \"out=a/b\" is not a task: in a list ';' separates");
}

TEST(library_job_file, names_it_as_a_text_does) {
  auto const found = parse_job_file(
      R"([{"task": "./libmine.so:mine", "options": {"out": "a,b:c"}}, {"task": "'./a:b.so':mine"}, {"task": "spin"}])",
      "job.json", tasks, in_library);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].shared_library, "./libmine.so");
  EXPECT_EQ(found[0].name, "mine");
  EXPECT_EQ(found[0].values.path("out"), "a,b:c");
  EXPECT_EQ(found[1].shared_library, "./a:b.so");
  EXPECT_EQ(found[2].shared_library, "");
  auto const says = [](std::string const& json) {
    return message_of<input_error>([&] { parse_job_file(json, "job.json", tasks, in_library); });
  };
  EXPECT_EQ(says("{\n\"task\": \"./libmine.so:other\"}"), "job.json:2: ./libmine.so has no task \"other\"");
  EXPECT_EQ(says(R"({"task": "./libmine.so"})"), "job.json:1: ./libmine.so has no task \"\"");
  expect_says(says(R"({"task": "./libmine.so:mine,steps=3"})"),
              "job.json:1: ./libmine.so has no task \"mine,steps=3\"");
  expect_says(says("{\n\"task\": \"'./a.so:mine\"}"), "job.json:2: task ''./a.so:mine', column 1: the quote ' is not");
}

}  // namespace
}  // namespace lull
