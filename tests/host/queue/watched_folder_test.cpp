// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/queue/watched_folder.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull::queue {
namespace {

using namespace std::chrono_literals;
using names = std::vector<std::string>;

class watched_folders : public testing::Test {
 protected:
  watched_folder watched(watched_folder::options asked) const { return {folder_.path(), std::move(asked)}; }
  void checkpoint(std::string const& name, std::string const& bytes, std::string const& file = "weights") const {
    std::filesystem::create_directories(folder_.path() / name);
    folder_.write(name + "/" + file, bytes);
  }
  test::test_folder folder_;
  watched_folder::time_point now_{1h};
};

TEST_F(watched_folders, tell_what_has_its_marker_once) {
  watched_folder here = watched({.marker = "DONE"});
  checkpoint("step-1", "half");
  checkpoint("step-2", "whole");
  checkpoint("step-2", "", "DONE");
  EXPECT_EQ(here.complete(now_), names{"step-2"});
  checkpoint("step-1", "", "DONE");
  checkpoint("step-3", "", "DONE");
  EXPECT_EQ(here.complete(now_), (names{"step-1", "step-3"}));
  EXPECT_EQ(here.complete(now_), names{});
}

TEST_F(watched_folders, tell_what_is_quiet) {
  watched_folder here = watched({.quiet = 10s});
  checkpoint("step-1", "a");
  folder_.write("model.bin", "b");
  EXPECT_EQ(here.complete(now_), names{});
  checkpoint("step-1", "longer");
  EXPECT_EQ(here.complete(now_ += 9s), names{});
  EXPECT_EQ(here.complete(now_ += 1s), names{"model.bin"});
  checkpoint("step-1/deeper", "new");
  EXPECT_EQ(here.complete(now_ += 9s), names{});
  EXPECT_EQ(here.complete(now_ += 9s), names{});
  EXPECT_EQ(here.complete(now_ += 1s), names{"step-1"});
  EXPECT_EQ(here.complete(now_ += 60s), names{});
}

TEST_F(watched_folders, begin_again_with_what_was_gone) {
  watched_folder here = watched({.quiet = 10s});
  folder_.write("model.bin", "a");
  EXPECT_EQ(here.complete(now_), names{});
  std::filesystem::remove(folder_.at("model.bin"));
  EXPECT_EQ(here.complete(now_ += 20s), names{});
  folder_.write("model.bin", "a");
  EXPECT_EQ(here.complete(now_ += 1s), names{});
  EXPECT_EQ(here.complete(now_ += 10s), names{"model.bin"});
}

TEST_F(watched_folders, pass_over_what_was_told_and_what_is_hidden) {
  watched_folder here = watched({.quiet = 0s});
  folder_.write("old", "x");
  EXPECT_EQ(here.complete(now_), names{"old"});
  for (char const* const name : {"old", "new", ".hidden"}) folder_.write(name, "x");
  EXPECT_EQ(here.complete(now_), names{"new"});
}

TEST_F(watched_folders, must_be_there) {
  EXPECT_THROW(watched_folder(folder_.at("none"), {}), usage_error);
  watched_folder here{folder_.path(), {}};
  std::filesystem::remove_all(folder_.path());
  EXPECT_THROW(here.complete(now_), device_error);
}

}  // namespace
}  // namespace lull::queue
