// SPDX-License-Identifier: Apache-2.0
// The program with side tasks of a shared library: they run, are verified, saved and resumed as those that are linked
// in.
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <lull/tests/apps/lull/program.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

std::string const counting = LULL_LIBRARIES "/libcounting.so";
std::string const count_up = " --task " + counting + ":count_up";

/// A good library in the test's own folder, whatever that is called.
class library_program : public program {
 protected:
  std::string copied(std::string const& name) const {
    fs::create_directories(fs::path{file(name)}.parent_path());
    fs::copy_file(counting, file(name));
    return file(name);
  }
  std::string in_folder() const { return "cd " + folder_.path().string() + " && "; }

  static void expect_says(outcome const& found, int code, std::string const& says) {
    EXPECT_EQ(found.code, code) << found.text;
    EXPECT_NE(found.text.find(says), std::string::npos) << found.text;
  }
};

TEST_F(library_program, runs_and_verifies_a_task) {
  expect_says(ask("run --executor threads --verify" + count_up + ",items=100,rounds=3"), 0, "last word: ");
  expect_says(ask("run --executor threads --verify" + count_up + ":items=100"), 0, "last word: ");
  expect_says(ask("run --executor threads --mode naive --verify" + count_up), 0, "last word: ");
  expect_says(ask("run --executor threads --verify --task " + counting + ":fed"), 0, "finished");
}

TEST_F(library_program, harvests_beside_a_task_that_is_linked_in) {
  outcome const found = ask(quick_harvest + std::string{"--verify --report "} + file("r.json") + count_up +
                            ",priority=2 --task compute:items=64,rounds=20" + count_up + ",rounds=30");
  EXPECT_EQ(found.code, 0) << found.text;
  json const tasks = report_in(file("r.json"))["config"]["tasks"];
  ASSERT_EQ(tasks.size(), 3U);
  EXPECT_EQ(tasks[0]["name"], "count_up");
  EXPECT_EQ(tasks[0]["library"], counting);
  EXPECT_EQ(tasks[0]["options"]["priority"], "2");
  EXPECT_EQ(tasks[0]["options"]["items"], "64");
  EXPECT_EQ(tasks[1]["library"], nullptr);
  EXPECT_EQ(tasks[2]["options"]["rounds"], "30");
  json const jobs = report_in(file("r.json"))["jobs"];
  std::set<std::string> names;
  for (json const& job : jobs) {
    if (job["state"] != "finished") continue;  // of each task the last one may have been stopped
    names.insert(job["name"].get<std::string>());
    EXPECT_EQ(job["verified"], true) << job;
  }
  EXPECT_EQ(names, (std::set<std::string>{"compute", "count_up", "count_up-2"}));
}

TEST_F(library_program, takes_values_and_paths_of_any_characters) {
  std::string const odd = copied("a: folder,/lib;x=1.so");
  expect_says(ask("run --executor threads --task '\"" + odd + "\":count_up,label=\"a:b,c\",rounds=2'"), 0,
              "label <a:b,c>");
  expect_says(ask("run --executor threads --task './lib with blanks.so:count_up,label=a:b'",
                  "cp " + counting + " '" + file("lib with blanks.so") + "' && " + in_folder()),
              0, "label <a:b>");
}

TEST_F(library_program, takes_job_files_with_paths_from_where_it_is_called) {
  copied("libs/libcounting.so");
  std::ofstream{file("libs/job.json")} << R"([{"task": "./libs/libcounting.so:count_up",)"
                                       << R"( "options": {"rounds": 3, "label": "a,b:c", "priority": 1}},)"
                                       << R"( {"task": "compute", "options": {"items": 64, "rounds": 2}}])";
  expect_says(ask("run --executor threads --verify --job libs/job.json", in_folder()), 0, "label <a,b:c>");
  std::ofstream{file("bad.json")} << "{\n\"task\": \"./libs/libcounting.so:count\"}";
  expect_says(ask("run --executor threads --job bad.json", in_folder()), 2,
              "bad.json:2: ./libs/libcounting.so has no task \"count\"; known: count_up");
}

TEST_F(library_program, goes_on_from_a_checkpoint_with_the_same_result) {
  std::string const lib = copied("one/libcounting.so");
  std::string const rest = ":count_up,items=512,rounds=3000";
  outcome const whole = ask("run --executor threads --verify --json --task " + lib + rest);
  ASSERT_EQ(whole.code, 0) << whole.text;
  std::string const saved = " --verify --json --checkpoint " + file("saved");
  outcome const part = ask("run --executor threads --at-most 5ms --task " + lib + rest + saved);
  ASSERT_EQ(part.code, 0) << part.text;
  ASSERT_TRUE(fs::exists(file("saved/count_up.safetensors"))) << part.text;
  EXPECT_NE(content(file("saved/count_up.safetensors")).find("libcounting.so:count_up"), std::string::npos);
  // … when the library lies elsewhere, under the same name
  std::string const moved = copied("two/libcounting.so");
  outcome const rest_of_it = ask("run --executor threads --resume --task " + moved + rest + saved);
  ASSERT_EQ(rest_of_it.code, 0) << rest_of_it.text;
  EXPECT_EQ(json::parse(rest_of_it.text)["jobs"][0]["figures"], json::parse(whole.text)["jobs"][0]["figures"]);
  EXPECT_EQ(json::parse(rest_of_it.text)["jobs"][0]["verified"], true);
}

TEST_F(library_program, tells_the_task_of_a_checkpoint_from_others) {
  std::string const rest = ":count_up,items=512,rounds=100000000 --checkpoint " + file("saved");
  outcome const part = ask("run --executor threads --at-most 5ms --task " + counting + rest);
  ASSERT_EQ(part.code, 0) << part.text;
  std::string const other = copied("libother.so");
  outcome const refused = ask("run --executor threads --resume --at-most 5ms --task " + other + rest);
  EXPECT_EQ(refused.code, 2) << refused.text;
  EXPECT_NE(refused.text.find("libcounting.so:count_up"), std::string::npos) << refused.text;
  EXPECT_NE(refused.text.find("libother.so:count_up"), std::string::npos) << refused.text;
}

TEST_F(library_program, refuses_what_is_no_library_of_tasks) {
  auto const refused = [](std::string const& text, std::string const& says) {
    for (std::string const command : {"run --executor threads", "harvest --executor threads"})
      expect_refused(command + " --task '" + text + "'", says);
  };
  std::string const folder = LULL_LIBRARIES;
  refused("libcounting.so:count_up", "write its path with a '/', such as ./libcounting.so");
  refused("./none.so:count_up", "./none.so: there is no such file in ");
  refused(folder + "/libno_symbol.so:x", "it has no symbol lull_side_tasks");
  refused(folder + "/libother_abi.so:x", "it was built for number 99");
  refused(folder + "/libother_version.so:x", "it was built with Lull 0.1.7");
  refused(folder + "/libthrows_when_listed.so:x", "thrown while it listed its tasks");
  refused(counting, "the task's name is missing: write " + counting + ":NAME; known: ");
  refused(counting + ":cont_up", "has no task \"cont_up\"; known: count_up, ");
  refused(counting + ":count_up,rouns=3", "unknown option \"rouns\"; known: rounds");
  std::ofstream{file("text.so")} << "no library";
  refused(file("text.so") + ":x", "it is not a shared library");
}

TEST_F(library_program, names_the_library_whose_initialiser_ends_it) {
  outcome const found = ask("tasks " LULL_LIBRARIES "/libthrows_when_loaded.so");
  EXPECT_NE(found.code, 0);
  EXPECT_NE(found.text.find("libthrows_when_loaded.so: it failed when it was loaded"), std::string::npos) << found.text;
}

/// Nothing is looked for where no path was named.
TEST_F(library_program, takes_no_library_from_the_environment) {
  expect_says(ask("run --executor threads --task libcounting.so:count_up",
                  in_folder() + "cp " + counting + " . && LD_LIBRARY_PATH=. LD_PRELOAD= "),
              2, "unknown task \"libcounting.so\"");
}

TEST_F(library_program, errors_of_a_task_keep_their_kind) {
  expect_refused("run --executor threads" + count_up + ",throws=usage", "lull: thrown in a library");
  expect_refused("run --executor threads" + count_up + ",throws=input", "lull: some.file:7: thrown in a library");
  for (std::string const kind : {"limit", "device", "other"})
    EXPECT_EQ(ask("run --executor threads" + count_up + ",throws=" + kind).code, 1) << kind;
}

TEST_F(library_program, lists_the_tasks_of_a_library) {
  outcome const all = ask("tasks ./libs/libcounting.so",
                          "cd " + folder_.path().string() + " && mkdir libs && cp " + counting + " libs && ");
  EXPECT_EQ(all.code, 0) << all.text;
  for (char const* const each : {"./libs/libcounting.so:count_up: fold the number", "  rounds=integer",
                                 "./libs/libcounting.so:fed: take up rows", "priority=integer"})
    EXPECT_NE(all.text.find(each), std::string::npos) << each << '\n' << all.text;
  EXPECT_EQ(all.text.find("pagerank"), std::string::npos) << all.text;
  outcome const one = ask("tasks " + counting + ":count_up");
  expect_says(one, 0, "example: lull run --task " + counting + ":count_up,items=64,rounds=20\n");
  EXPECT_NE(one.text.find("runs on: threads"), std::string::npos) << one.text;
  EXPECT_EQ(one.text.find(":fed"), std::string::npos) << one.text;
  json const listed = json::parse(ask("tasks --json " + counting).text);
  ASSERT_EQ(listed["tasks"].size(), 3U);
  EXPECT_EQ(listed["tasks"][0]["name"], "count_up");
  EXPECT_EQ(listed["tasks"][0]["library"], counting);
  EXPECT_EQ(listed["tasks"][2]["example"], "lull run --task " + counting + ":fed");
  EXPECT_EQ(json::parse(ask("tasks mlp --json").text)["tasks"][0]["library"], nullptr);
  expect_refused("tasks " + counting + ":cont_up", "has no task \"cont_up\"; known: count_up");
}

TEST_F(library_program, its_help_and_manual_tell_how_a_library_is_named) {
  for (char const* const asks : {"run --help", "harvest --help", "man"})
    EXPECT_NE(ask(asks).text.find("./libmine.so"), std::string::npos) << asks;
  EXPECT_NE(ask("tasks --help").text.find("./libmine.so"), std::string::npos);
}

/// A library is completed as a file is. None is opened: that would run its code.
TEST_F(library_program, completes_the_path_of_a_library_and_opens_none) {
  copied("libs/libcounting.so");
  std::ofstream{file("libs/libnone.txt")} << "";
  EXPECT_EQ(ask("complete run --task ./l", in_folder()).text, "task\n./libs/\n");
  EXPECT_EQ(ask("complete run --task ./libs/l", in_folder()).text, "task\n./libs/libcounting.so:\n");
  EXPECT_EQ(ask("complete run --task ./libs/libcounting.so:co", in_folder()).text, "task\n");
  EXPECT_EQ(ask("complete run --task " LULL_LIBRARIES "/libthrows_when_loaded.so:a").text, "task\n");
  EXPECT_EQ(ask("complete run --task compute:ite").text, "task\ncompute:items=\n");
}

}  // namespace
}  // namespace lull
