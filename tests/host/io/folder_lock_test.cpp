// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lull/host/error.hpp>
#include <lull/host/io/folder_lock.hpp>

namespace lull {
namespace {

class folder_locks : public testing::Test {
 protected:
  ~folder_locks() override { std::filesystem::remove_all(root_); }

  std::string root_ = [] {
    std::string made = testing::TempDir() + "lull_folder_lock.XXXXXX";
    return std::string{::mkdtemp(made.data())};
  }();
  std::string folder_ = root_ + "/saved";
};

/// Runs in a child, which ends by SIGKILL: it has threads of a sanitizer that nobody joins.
template <class Work>
pid_t forked(Work work) {
  pid_t const child = ::fork();
  if (child != 0) return child;
  work();
  for (;;) ::pause();
}

void end(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

template <class T>
T read_from(int pipe) {
  T value{};
  EXPECT_EQ(::read(pipe, &value, sizeof value), static_cast<ssize_t>(sizeof value));
  return value;
}

template <class T>
void write_to(int pipe, T value) {
  if (::write(pipe, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) std::abort();
}

TEST_F(folder_locks, hold_a_folder_while_they_live) {
  {
    folder_lock const first{folder_};
    EXPECT_THROW(folder_lock{folder_}, usage_error);
    folder_lock const other{root_};
  }
  folder_lock const again{folder_};
}

TEST_F(folder_locks, keep_other_processes_out_until_theirs_is_killed) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  pid_t const holder = forked([&] {
    static folder_lock const held{folder_};
    write_to(ends[1], 'x');
  });
  read_from<char>(ends[0]);
  EXPECT_THROW(folder_lock{folder_}, usage_error);
  end(holder);
  folder_lock const mine{folder_};
  for (int const each : ends) ::close(each);
}

// As a data loader may do, or a process that a training left behind.
TEST_F(folder_locks, are_not_kept_by_a_forked_child_that_outlives_its_parent) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  pid_t const parent = forked([&] {
    static folder_lock const held{folder_};
    write_to(ends[1], forked([] {}));
  });
  auto const grandchild = read_from<pid_t>(ends[0]);
  EXPECT_THROW(folder_lock{folder_}, usage_error);
  end(parent);
  {
    folder_lock const mine{folder_};
    EXPECT_EQ(::kill(grandchild, 0), 0);
  }
  ::kill(grandchild, SIGKILL);
  for (int const each : ends) ::close(each);
}

// The child's copy must not release what the parent holds, nor close a file of its own that got the number.
TEST_F(folder_locks, are_left_to_the_parent_when_the_childs_copy_ends) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::optional<folder_lock> held{std::in_place, folder_};
  pid_t const child = forked([&] {
    int const opened = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    held.reset();
    write_to(ends[1], ::fcntl(opened, F_GETFD) >= 0);
  });
  EXPECT_TRUE(read_from<bool>(ends[0]));
  EXPECT_THROW(folder_lock{folder_}, usage_error);
  end(child);
  EXPECT_THROW(folder_lock{folder_}, usage_error);
  held.reset();
  folder_lock const again{folder_};
  for (int const each : ends) ::close(each);
}

}  // namespace
}  // namespace lull
