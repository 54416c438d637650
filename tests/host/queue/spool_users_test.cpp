// SPDX-License-Identifier: Apache-2.0
// Another user of the machine, who tries to read, change, take and plant what is in a spool.
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/queue/attempt_files.hpp>
#include <lull/host/queue/spool.hpp>
#include <lull/tests/host/queue/store_contract.hpp>
#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/message_of.hpp>

namespace lull::queue {
namespace {

/// Does it as the user "nobody"; returns false if that is not allowed here.
template <class Work>
bool as_another_user(Work work) {
  constexpr uid_t other = 65'534;
  if (::geteuid() != 0) return false;
  pid_t const child = ::fork();
  if (child == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(other) != 0 || ::setuid(other) != 0) ::_exit(2);
    work();
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  EXPECT_EQ(test::status_of(child), 0) << "see above";
  return true;
}

/// Also where the folder itself was opened to others by mistake: what is in it is this user's.
TEST(spools_of_one_user, let_no_other_in) {
  test::test_folder const folder;
  std::filesystem::path const at = folder.path() / "spool";
  mode_t const mask = ::umask(0);
  spool::make(at);
  spool own{at};
  job_document const one = job_named("one");
  std::string const id = own.submit({&one, 1}).front();
  job_entry const before = own.entry(id);
  own.beat({.id = "00000000000a"});
  attempt_in(own.folder(id), id, 1);
  ::umask(mask);
  std::vector<std::filesystem::path> all{at};
  for (auto const& each : std::filesystem::recursive_directory_iterator{at}) all.push_back(each.path());
  EXPECT_GE(all.size(), 12U);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  for (mode_t const mode : {0700, 0755}) {
    SCOPED_TRACE("the spool's folder has mode " + std::to_string(mode));
    ASSERT_EQ(::chmod(at.c_str(), mode), 0);
    bool const was_tried = as_another_user([&] {
      EXPECT_NE(message_of<usage_error>([&] { spool const opened{at}; }), "");
      for (std::filesystem::path const& each : all) {
        bool const is_open = each == at && mode == 0755;
        EXPECT_EQ(::access(each.c_str(), R_OK) == 0, is_open) << "can be read: " << each;
        EXPECT_NE(::access(each.c_str(), W_OK), 0) << "can be written: " << each;
        if (each == at) continue;
        EXPECT_NE(::unlink(each.c_str()), 0) << "can be removed: " << each;
        EXPECT_NE(::rename(each.c_str(), (each.string() + "x").c_str()), 0) << "can be renamed: " << each;
        EXPECT_NE(::rename(each.c_str(), folder.at("mine").c_str()), 0) << "can be taken: " << each;
      }
      for (std::filesystem::path const& each : all) {
        std::error_code none;
        std::string const planted = each / "planted";
        EXPECT_NE(::symlink("/etc/passwd", planted.c_str()), 0) << planted;
        EXPECT_NE(::mkdir(planted.c_str(), 0777), 0) << planted;
        EXPECT_NE(::link(folder.at("mine").c_str(), planted.c_str()), 0) << planted;
      }
    });
    if (!was_tried) GTEST_SKIP() << "this user cannot become another one";
  }
  ASSERT_EQ(::chmod(at.c_str(), 0700), 0);
  EXPECT_EQ(spool{at}.entry(id), before);
}

/// A folder that another user has made is not taken for a queue, nor is a link to one's own.
TEST(spools_of_one_user, are_not_another_users) {
  test::test_folder const folder;
  std::filesystem::path const at = folder.path() / "spool";
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  bool const was_made = as_another_user([&] { spool::make(at); });
  if (!was_made) GTEST_SKIP() << "this user cannot become another one";
  EXPECT_NE(message_of<usage_error>([&] { spool const opened{at}; }).find("is not this user's alone"),
            std::string::npos);
  EXPECT_NE(message_of<usage_error>([&] { spool::make(at); }).find("is not this user's alone"), std::string::npos);
}

}  // namespace
}  // namespace lull::queue
