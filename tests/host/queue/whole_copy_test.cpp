// SPDX-License-Identifier: Apache-2.0
// Copies of files and folders, which are there whole or not at all.
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/queue/whole_copy.hpp>
#include <lull/tests/support/effort.hpp>
#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/message_of.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull::queue {
namespace {

namespace fs = std::filesystem;

class whole_copies : public testing::Test {
 protected:
  whole_copies() {
    fs::create_directories(file("from/deep"));
    fs::create_directory(file("home"));
    write("from/one", "1");
    write("from/deep/two", "22");
    fs::create_symlink("one", file("from/link"));
  }
  std::string file(std::string const& name) const { return folder_.at(name); }
  void write(std::string const& name, std::string const& text) const { std::ofstream{file(name)} << text; }
  static std::string content(fs::path const& at) {
    std::ifstream in{at};
    return {std::istreambuf_iterator<char>{in}, {}};
  }
  bool copy(std::string const& from, std::string const& to, existing what = existing::refuse) const {
    return copy_whole(file(from), file(to), what, [] { return false; });
  }
  void expect_whole(std::string const& at) const {
    EXPECT_EQ(content(file(at + "/one")), "1");
    EXPECT_EQ(content(file(at + "/deep/two")), "22");
    EXPECT_EQ(fs::read_symlink(file(at + "/link")), "one");
  }
  auto names() const { return std::distance(fs::directory_iterator{file("home")}, fs::directory_iterator{}); }

  test::test_folder folder_;
};

TEST_F(whole_copies, have_all_that_is_there) {
  EXPECT_EQ(bytes_of(file("from")), 3U);
  EXPECT_EQ(bytes_of(file("from/deep/two")), 2U);
  EXPECT_TRUE(copy("from", "home/all"));
  expect_whole("home/all");
  EXPECT_TRUE(copy("from/one", "home/one"));
  EXPECT_EQ(content(file("home/one")), "1");
  EXPECT_EQ(names(), 2);
}

TEST_F(whole_copies, replace_only_where_it_is_asked_for) {
  write("home/one", "old");
  fs::create_directories(file("home/all/old"));
  for (auto const& [from, to] : {std::pair{"from/one", "home/one"}, std::pair{"from", "home/all"}}) {
    EXPECT_NE(message_of<usage_error>([&] { copy(from, to); }).find("is there already"), std::string::npos);
    EXPECT_TRUE(copy(from, to, existing::replace));
  }
  EXPECT_EQ(content(file("home/one")), "1");
  expect_whole("home/all");
  EXPECT_FALSE(fs::exists(file("home/all/old"))) << "what was there is not mixed with what comes";
  fs::create_symlink("/no/such/file", file("home/dangling"));
  EXPECT_THROW(copy("from/one", "home/dangling"), usage_error);
  EXPECT_EQ(names(), 3) << "nothing else is left";
}

TEST_F(whole_copies, are_not_there_where_they_fail_or_are_stopped) {
  ASSERT_EQ(::mkfifo(file("from/deep/pipe").c_str(), S_IRWXU), 0);
  EXPECT_NE(message_of<usage_error>([&] { copy("from", "home/all"); }).find("from/deep/pipe cannot be copied"),
            std::string::npos);
  EXPECT_EQ(names(), 0);
  fs::remove(file("from/deep/pipe"));
  int left = 2;
  EXPECT_FALSE(copy_whole(file("from"), file("home/all"), existing::refuse, [&] { return left-- == 0; }));
  EXPECT_FALSE(copy_whole(file("from/one"), file("home/one"), existing::refuse, [] { return true; }));
  EXPECT_EQ(names(), 0);
}

TEST_F(whole_copies, are_whole_whenever_the_process_dies) {
  for (int i = 0; i < 50; ++i) write("from/deep/" + std::to_string(i), std::string(1'000, 'x'));
  auto const bytes = bytes_of(file("from"));
  std::mt19937 random{20'261'130};
  for (std::uint64_t i = 0; i < trials(60); ++i) {
    pid_t const dies = test::forked([&] {
      for (;;) copy("from", "home/all", existing::replace);
    });
    EXPECT_TRUE(within_time([&] { return fs::exists(file("home/all")); }));
    std::this_thread::sleep_for(std::chrono::microseconds{random() % 20'000});  // it is replaced meanwhile
    test::kill_child(dies);
    EXPECT_EQ(bytes_of(file("home/all")), bytes);
    expect_whole("home/all");
    fs::remove_all(file("home"));
    fs::create_directory(file("home"));
  }
}

}  // namespace
}  // namespace lull::queue
