// SPDX-License-Identifier: Apache-2.0
// `lull new task`: what it refuses, and that a folder is written whole or not at all. tests/consumer/ builds what it
// writes.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <lull/apps/lull/new_task.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/atomic_file.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> taken{"pagerank", "images"};

std::string why_refused(std::string_view name) {
  try {
    check_task_name(name, taken);
  } catch (usage_error const& refused) {
    return refused.what();
  }
  return {};
}

std::string why_not_written(fs::path const& folder) {
  try {
    write_task("word_count", folder);
  } catch (usage_error const& refused) {
    return refused.what();
  }
  return {};
}

std::set<std::string> names_in(fs::path const& folder) {
  std::set<std::string> names;
  for (auto const& each : fs::recursive_directory_iterator{folder})
    names.insert(fs::relative(each.path(), folder).string());
  return names;
}

void expect_says(std::string const& found, std::string const& expected) {
  EXPECT_NE(found.find(expected), std::string::npos) << "\"" << found << '"';
}

TEST(new_task_name, is_a_word_in_snake_case) {
  for (char const* const good : {"word_count", "x", "my_task", "top_10", "blur3x3", "index", "signal", "tm"})
    EXPECT_EQ(why_refused(good), "") << good;
  for (char const* const bad : {"", "WordCount", "word-count", "word count", "3d_blur", "_blur", "blur_", "word__count",
                                "wört", "a/b", "..", "a\n", "--help"}) {
    expect_says(why_refused(bad), "small letters, digits and single underscores");
  }
  expect_says(why_refused(std::string(65, 'a')), "longer than 64");
  EXPECT_EQ(why_refused(std::string(64, 'a')), "");
  EXPECT_LT(why_refused(std::string(100'000, 'A')).size(), 500U);
}

TEST(new_task_name, means_nothing_else_where_it_will_stand) {
  for (char const* const word : {"class", "co_yield", "thread_local", "xor_eq", "alignas", "linux", "unix"})
    expect_says(why_refused(word), "a reserved word of C++");
  expect_says(why_refused("pagerank"), "a task has this name");
  expect_says(why_refused("images"), "lull tasks");
  for (char const* const word :
       {"std", "lull", "tile", "sums", "values", "owner", "joined", "machine", "bubble", "grains"})
    expect_says(why_refused(word), "for something else");
}

TEST(new_task_project, has_every_file_under_the_new_name_and_no_licence_line) {
  test::test_folder const place;
  std::vector<std::string> const names = write_task("word_count", place.at("made"));
  std::set<std::string> const expected{
      "CMakeLists.txt",       "README.md",           "word_count.hpp",      "word_count_library.cpp",
      "word_count_owner.hpp", "word_count_test.cpp", "word_count_bench.cpp"};
  EXPECT_EQ((std::set<std::string>{names.begin(), names.end()}), expected);
  EXPECT_EQ(names_in(place.path()),
            (std::set<std::string>{"made", "made/CMakeLists.txt", "made/README.md", "made/word_count.hpp",
                                   "made/word_count_library.cpp", "made/word_count_owner.hpp",
                                   "made/word_count_test.cpp", "made/word_count_bench.cpp"}));
  for (std::string const& name : names) {
    std::string const text = read_file(place.at("made/" + name), 1 << 20);
    EXPECT_EQ(text.find("my_task"), std::string::npos) << name;
    EXPECT_NE(text.find("word_count"), std::string::npos) << name;
    EXPECT_EQ(text.find("SPDX"), std::string::npos) << name;
  }
}

TEST(new_task_project, is_the_tree_s_example_byte_for_byte) {
  for (task_page const& page : task_pages())
    EXPECT_EQ(page.text, read_file(fs::path{LULL_NEW_TASK} / page.name, 1 << 20)) << page.name;
}

/// The chapter's promise: lines that are neither empty nor comment, of all that a task under contract needs.
TEST(new_task_project, is_under_contract_in_about_a_hundred_lines) {
  auto const counts = [](std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return !line.empty() && line != "#" && !line.starts_with("# ") && !line.starts_with("//");
  };
  int lines = 0;
  for (task_page const& page : task_pages()) {
    if (page.name == "README.md" || page.name.ends_with("_bench.cpp") || page.name.ends_with("_library.cpp")) continue;
    std::ifstream text{fs::path{LULL_NEW_TASK} / page.name};
    for (std::string line; std::getline(text, line);) lines += counts(line) ? 1 : 0;
  }
  EXPECT_GT(lines, 50);
  EXPECT_LE(lines, 105);
}

TEST(new_task_folder, may_be_there_if_it_is_empty) {
  test::test_folder const place;
  fs::create_directory(place.at("empty"));
  EXPECT_EQ(why_not_written(place.at("empty/")), "");
  EXPECT_TRUE(fs::exists(place.at("empty/word_count.hpp")));
  EXPECT_EQ(names_in(place.path()).size(), 8U);
}

TEST(new_task_folder, that_is_not_empty_stays_as_it_was) {
  test::test_folder const place;
  fs::create_directory(place.at("full"));
  place.write("full/notes.txt", "mine");
  expect_says(why_not_written(place.at("full")), "not empty");
  expect_says(why_not_written(place.at("full/notes.txt")), "not a folder");
  fs::create_symlink(place.at("absent"), place.at("link"));
  expect_says(why_not_written(place.at("link")), "not a folder");
  EXPECT_EQ(names_in(place.path()), (std::set<std::string>{"full", "full/notes.txt", "link"}));
  EXPECT_EQ(read_file(place.at("full/notes.txt"), 100), "mine");
}

TEST(new_task_folder, needs_a_folder_to_be_made_in) {
  test::test_folder const place;
  expect_says(why_not_written(place.at("none/made")), "there is no folder");
  expect_says(why_not_written(""), "the name is empty");
  expect_says(why_not_written("/proc/made"), "cannot write into");
  EXPECT_TRUE(names_in(place.path()).empty());
}

TEST(new_task_folder, that_cannot_be_written_says_so) {
  test::test_folder const place;
  fs::permissions(place.path(), fs::perms{0555});
  uid_t const who = ::geteuid();
  ASSERT_EQ(::seteuid(who == 0 ? 65'534 : who), 0);  // root may write everywhere
  std::string const found = why_not_written(place.at("made"));
  ASSERT_EQ(::seteuid(who), 0);
  fs::permissions(place.path(), fs::perms::owner_all);
  expect_says(found, "cannot write into");
  expect_says(found, "Permission denied");
  EXPECT_TRUE(names_in(place.path()).empty());
}

TEST(new_task_folder, is_not_there_if_a_file_could_not_be_written_whole) {
  test::test_folder const place;
  auto* const before = ::signal(SIGXFSZ, SIG_IGN);
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &usual), 0);
  rlimit const small{1000, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(write_task("word_count", place.at("made")), error);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &usual), 0);
  ::signal(SIGXFSZ, before);
  EXPECT_TRUE(names_in(place.path()).empty());
}

TEST(new_task_folder, where_somebody_stands_is_left_alone) {
  test::test_folder const place;
  fs::path const before = fs::current_path();
  fs::current_path(place.path());
  expect_says(why_not_written("."), "the current folder");
  EXPECT_EQ(why_not_written("made"), "");
  fs::current_path(before);
  EXPECT_TRUE(fs::exists(place.at("made/CMakeLists.txt")));
}

}  // namespace
}  // namespace lull
