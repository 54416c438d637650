// SPDX-License-Identifier: Apache-2.0
// Which shared libraries Lull opens, what it says of the others, and that what crosses the boundary stays unchanged.
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/host/task/library_loader.hpp>
#include <lull/host/task/task_library.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

std::string library(std::string const& name) { return LULL_LIBRARIES "/lib" + name + ".so"; }

std::string why_refused(std::string const& file) {
  try {
    tasks_in(file);
  } catch (usage_error const& wrong) {
    return wrong.what();
  }
  return "it was taken";
}

/// A refusal names the file as the caller did.
void expect_refused(std::string const& file, std::string const& says) {
  std::string const found = why_refused(file);
  EXPECT_TRUE(found.starts_with(file)) << found;
  EXPECT_NE(found.find(says), std::string::npos) << found;
}

std::unique_ptr<task_owner> an_owner(std::string_view key, std::string_view value) {
  std::string const counting = library("counting");
  task_entry const& entry = task_in(counting, "count_up");
  option_values values{entry.options};
  values.set(key, value);
  return entry.make(values);
}

TEST(task_library, lists_its_tasks) {
  auto const found = tasks_in(library("counting"));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].name, "count_up");
  EXPECT_EQ(found[1].name, "fold");
  EXPECT_EQ(found[0].options.front().name, "items");
}

TEST(task_library, runs_a_task_to_its_end_and_verifies_it) {
  auto const executor = make_executor({.kind = executor_kind::threads, .processors = 2});
  auto const owner = an_owner("rounds", "7");
  owner->prepare(*executor);
  EXPECT_FALSE(owner->verify().ok);
  EXPECT_TRUE(run_to_end(*owner, *executor).finished);
  EXPECT_TRUE(owner->verify().ok);
}

/// Its owner calls the library's own copy of `job`.
TEST(task_library, feeds_its_job) {
  auto const executor = make_executor({.kind = executor_kind::threads, .processors = 2});
  std::string const counting = library("counting");
  task_entry const& entry = task_in(counting, "fed");
  auto const owner = entry.make(option_values{entry.options});
  owner->prepare(*executor);
  EXPECT_TRUE(run_to_end(*owner, *executor).finished);
  EXPECT_TRUE(owner->verify().ok);
}

/// One file is one library, by whatever name and from whatever thread.
TEST(task_library, is_opened_once) {
  test::test_folder const folder;
  fs::create_symlink(library("counting"), folder.at("libother.so"));
  std::vector<task_entry const*> found(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back(
        [&, i] { found[i] = tasks_in(i % 2 == 0 ? library("counting") : folder.at("libother.so")).data(); });
  }
  for (std::thread& each : threads) each.join();
  ASSERT_NE(found.front(), nullptr);
  for (task_entry const* const each : found) EXPECT_EQ(each, found.front());
}

/// The library's copies of Lull are its own: no other copy in the process sees them.
TEST(task_library, shows_one_symbol_alone) {
  std::FILE* const listed = ::popen((LULL_NM " -D --defined-only --format=posix " + library("counting")).c_str(), "r");
  ASSERT_NE(listed, nullptr);
  char line[512];
  std::vector<std::string> names;
  while (std::fgets(line, sizeof line, listed) != nullptr) names.push_back(std::string{line}.substr(0, 15));
  EXPECT_EQ(::pclose(listed), 0);
  EXPECT_EQ(names, std::vector<std::string>{"lull_side_tasks"});
  tasks_in(library("counting"));
  EXPECT_EQ(::dlsym(RTLD_DEFAULT, "lull_side_tasks"), nullptr) << "other libraries find it";
}

TEST(task_library, throws_what_the_program_catches) {
  auto const executor = make_executor({.kind = executor_kind::threads});
  EXPECT_THROW(an_owner("throws", "usage")->prepare(*executor), usage_error);
  EXPECT_THROW(an_owner("throws", "limit")->prepare(*executor), limit_error);
  EXPECT_THROW(an_owner("throws", "other")->prepare(*executor), std::domain_error);
  try {
    an_owner("throws", "input")->prepare(*executor);
    FAIL() << "nothing was thrown";
  } catch (input_error const& wrong) {
    EXPECT_EQ(wrong.file(), "some.file");
    EXPECT_EQ(wrong.line(), 7U);
  }
  try {
    an_owner("throws", "device")->prepare(*executor);
    FAIL() << "nothing was thrown";
  } catch (error const& wrong) {
    EXPECT_NE(dynamic_cast<device_error const*>(&wrong), nullptr);
  }
}

TEST(task_library, lets_the_library_catch_what_the_machine_throws) {
  auto const executor = make_executor({.kind = executor_kind::threads, .memory_limit_bytes = 1 << 10});
  EXPECT_THROW(an_owner("items", "4096")->prepare(*executor), limit_error);
}

TEST(task_library, is_named_by_a_path) {
  expect_refused("libcounting.so", ": write its path with a '/', such as ./libcounting.so");
  expect_refused("", "is empty");
}

TEST(task_library, must_be_a_shared_library) {
  test::test_folder const folder;
  expect_refused(folder.at("none.so"), ": there is no such file");
  expect_refused(folder.path().string() + "/", ": it is not a file");
  expect_refused(folder.write("text.so", "no library"), ": it is not a shared library");
  expect_refused(folder.write("empty.so", ""), ": it is not a shared library");
  expect_refused(folder.write("short.so",
                              "\x7f"
                              "ELF"),
                 "cannot be loaded: file too short");
  ASSERT_EQ(::mkfifo(folder.at("pipe.so").c_str(), 0600), 0);
  expect_refused(folder.at("pipe.so"), ": it is not a file");  // and does not wait for a writer
}

TEST(task_library, of_a_relative_path_is_told_where_it_was_looked_for) {
  expect_refused("./none.so", ": there is no such file in " + fs::current_path().string());
}

TEST(task_library, must_have_all_that_it_calls) {
  expect_refused(library("undefined"), "cannot be loaded: undefined symbol: _Z15defined_nowherev");
}

TEST(task_library, must_say_that_it_is_one) {
  expect_refused(library("no_symbol"), ": it has no symbol lull_side_tasks: say LULL_SIDE_TASKS");
}

TEST(task_library, must_be_built_for_this_lull) {
  expect_refused(library("other_abi"), ": it was built for number 99 of Lull's interface for libraries, and this is " +
                                           std::to_string(task_library_abi));
  expect_refused(library("other_version"), ": it was built with Lull 0.1.7, and this is 0.2.0: build it again");
  expect_refused(library("other_layout"), ": it was built with another compiler, standard library or options");
}

/// … and ends the process, in every build: the system's loader would stay locked.
TEST(task_library, that_throws_when_it_is_loaded_is_named) {
  EXPECT_EXIT(why_refused(library("throws_when_loaded")), testing::KilledBySignal(SIGABRT),
              library("throws_when_loaded") +
                  ": it failed when it was loaded, which ends this process: thrown while it was loaded");
}

TEST(task_library, that_throws_is_refused_and_others_are_loaded_after_it) {
  expect_refused(library("throws_when_listed"), ": it cannot list its tasks: thrown while it listed its tasks");
  std::thread{[] { EXPECT_EQ(tasks_in(library("counting")).size(), 3U); }}.join();
}

TEST(task_library, must_have_tasks_as_they_should_be) {
  expect_refused(library("empty"), ": it has no task");
  expect_refused(library("named_badly"), ": \"../a\" cannot be a task's name");
  expect_refused(library("named_twice"), ": it has two tasks of the name one");
  expect_refused(library("without_make"), ": its task one lacks");
  expect_refused(library("bad_option"), ": its task one: ");
}

TEST(task_library, says_which_tasks_it_has) {
  auto const says = [](std::string_view name) {
    try {
      task_in(library("counting"), name);
    } catch (usage_error const& wrong) {
      return std::string{wrong.what()};
    }
    return std::string{"it was found"};
  };
  EXPECT_EQ(says("fould"), library("counting") + " has no task \"fould\"; known: fold, count_up, fed");
  EXPECT_EQ(says(""), "the task's name is missing: write " + library("counting") + ":NAME; known: fed, count_up, fold");
}

}  // namespace
}  // namespace lull
