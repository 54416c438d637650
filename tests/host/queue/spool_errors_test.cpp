// SPDX-License-Identifier: Apache-2.0
// A system that refuses calls: each operation is made or says which file was refused and why, and loses nothing.
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/tests/host/queue/spool_operations.hpp>
#include <lull/tests/support/shared_value.hpp>
#include <lull/tests/support/traced_child.hpp>

namespace lull::queue {
namespace {

class refused_spools : public testing::TestWithParam<spool_operation> {
 protected:
  void SetUp() override {
    if (!test::traced_child::is_possible()) GTEST_SKIP() << "a process may not trace its child here";
  }
};

using message = std::array<char, 1'000>;

/// Returns the file in the test's folder that a call is about; nothing for any other call.
std::string file_of(test::traced_child const& child, spool_scene const& here) {
  auto const& [number, arguments, result] = child.call();
  std::filesystem::path found;
  switch (number) {
    case SYS_read:
    case SYS_write:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_syncfs:
    case SYS_fstat:
    case SYS_getdents64:
      found = child.path_of(arguments[0]);
      break;
    case SYS_openat:
    case SYS_newfstatat:
    case SYS_faccessat2:
    case SYS_mkdirat:
    case SYS_unlinkat:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_linkat:
      found = child.path_of(arguments[0]) / child.text(arguments[1]);
      break;
    case SYS_mkdir:
    case SYS_rename:
    case SYS_link:
    case SYS_unlink:
    case SYS_rmdir:
      found = child.text(arguments[0]);
      break;
    default:
      break;
  }
  bool const is_here = found.string().starts_with(here.folder_.path().string());
  return is_here ? found.string() : std::string{};
}

/// Makes the operation in a child, and has `decide` say what becomes of each call about a file of the test's. Returns
/// the child's status.
template <class Decide>
int made(spool_scene& here, spool_operation const& what, test::shared_value<message>& said, Decide decide) {
  test::traced_child child{[&] {
                             here.own = std::make_unique<spool>(here.at());
                             if (what.begin) what.begin(here);
                           },
                           [&] {
                             try {
                               what.make(here);
                               *here.acknowledged = true;
                             } catch (error const& wrong) {
                               std::strncpy(said->data(), wrong.what(), said->size() - 1);
                             } catch (std::filesystem::filesystem_error const& wrong) {
                               std::strncpy(said->data(), wrong.what(), said->size() - 1);
                             }
                           }};
  while (child.next()) {
    bool const goes_on = file_of(child, here).empty() ? child.make() : decide(child);
    if (!goes_on) break;
  }
  return child.status();
}

/// Refuses one call with an error. Returns whether there are that many.
bool refuse_one(spool_operation const& what, int number, int error) {
  spool_scene here;
  test::shared_value<message> said;
  if (what.prepare) what.prepare(here);
  int calls = 0;
  std::string file;
  int const status = made(here, what, said, [&](test::traced_child& child) {
    if (calls++ != number) return child.make();
    file = file_of(child, here) + " of call " + std::to_string(child.call().number);
    return child.refuse(error);
  });
  SCOPED_TRACE("refused with \"" + std::string{std::strerror(error)} + "\": call " + std::to_string(number) +
               (file.empty() ? "" : ", " + file));
  EXPECT_EQ(status, 0) << "it neither ends nor says what is wrong";
  std::string const text = said->data();
  if (!*here.acknowledged) {
    EXPECT_NE(text.find(here.folder_.path().string()), std::string::npos) << "it names no file: " << text;
    EXPECT_NE(text.find(std::strerror(error)), std::string::npos) << text;
  }
  here.expect_whole(fault::refused);
  what.check(here, *here.acknowledged, fault::refused);
  what.again(here);
  here.expect_whole(fault::refused);
  here.expect_no_litter();
  return number < calls;
}

TEST_P(refused_spools, say_so_and_lose_nothing) {
  spool_operation const& what = GetParam();
  for (int const error : {ENOSPC, EIO}) {
    int number = 0;
    while (refuse_one(what, number, error) && !HasFailure()) ++number;
    if (HasFailure()) return;
    std::cout << what.name << ": " << number << " calls were refused with \"" << std::strerror(error) << "\"\n";
    EXPECT_GE(number, 3);
  }
}

/// A signal interrupts each call that may wait, once, and no call writes more than a byte. The standard library, which
/// has a job's own folder listed and removed, does not open a folder again.
TEST_P(refused_spools, go_on_where_calls_are_interrupted_or_cut_short) {
  spool_operation const& what = GetParam();
  spool_scene here;
  test::shared_value<message> said;
  if (what.prepare) what.prepare(here);
  int interrupted = 0;
  long last = -1;
  int const status = made(here, what, said, [&](test::traced_child& child) {
    constexpr std::array may_wait{SYS_openat, SYS_read, SYS_write, SYS_fsync, SYS_syncfs};
    long const number = child.call().number;
    bool const is_again = std::exchange(last, number) == number;
    bool const is_library = number == SYS_openat && file_of(child, here).find("/work/") != std::string::npos;
    if (!is_again && !is_library && std::count(may_wait.begin(), may_wait.end(), number) != 0) {
      ++interrupted;
      return child.refuse(EINTR);
    }
    last = -1;
    if (number == SYS_write) child.shorten(1);
    return child.make();
  });
  EXPECT_EQ(status, 0);
  EXPECT_GE(interrupted, 2);
  EXPECT_TRUE(*here.acknowledged) << said->data();
  here.expect_whole(fault::refused);
  what.check(here, *here.acknowledged, fault::refused);
}

INSTANTIATE_TEST_SUITE_P(, refused_spools, testing::ValuesIn(spool_operations()),
                         [](auto const& of) { return of.param.name; });

}  // namespace
}  // namespace lull::queue
