// SPDX-License-Identifier: Apache-2.0
#include <lull/host/io/folder_lock.hpp>

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/tests/support/forked.hpp>
#include <lull/tests/support/test_folder.hpp>

namespace lull {
namespace {

using test::forked;
using test::kill_child;

class folder_locks : public testing::Test {
 protected:
  test::test_folder files_;
  std::string folder_ = files_.at("saved");
  test::value_pipe told_;
};

TEST_F(folder_locks, hold_a_folder_while_they_live) {
  {
    folder_lock const first{folder_};
    EXPECT_THROW(folder_lock{folder_}, usage_error);
    folder_lock const other{files_.path().string()};
  }
  folder_lock const again{folder_};
}

TEST_F(folder_locks, keep_other_processes_out_until_theirs_is_killed) {
  pid_t const holder = forked([&] {
    static folder_lock const held{folder_};
    told_.write(true);
  });
  told_.read<bool>();
  EXPECT_THROW(folder_lock{folder_}, usage_error);
  kill_child(holder);
  folder_lock const mine{folder_};
}

// As a data loader may do, or a process that outlives a training.
TEST_F(folder_locks, are_not_kept_by_a_forked_child_that_outlives_its_parent) {
  pid_t const parent = forked([&] {
    static folder_lock const held{folder_};
    forked([&] { told_.write(::getpid()); });
  });
  auto const grandchild = told_.read<pid_t>();
  test::killed_at_end const last{grandchild};
  EXPECT_THROW(folder_lock{folder_}, usage_error);
  kill_child(parent);
  folder_lock const mine{folder_};
  EXPECT_EQ(::kill(grandchild, 0), 0);
}

// The child's copy must not release what the parent holds, nor close a file of its own that got the number.
TEST_F(folder_locks, are_left_to_the_parent_when_the_childs_copy_ends) {
  std::optional<folder_lock> held{std::in_place, folder_};
  pid_t const child = forked([&] {
    int const opened = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    held.reset();
    told_.write(::fcntl(opened, F_GETFD) >= 0);
  });
  EXPECT_TRUE(told_.read<bool>());
  EXPECT_THROW(folder_lock{folder_}, usage_error);
  kill_child(child);
  EXPECT_THROW(folder_lock{folder_}, usage_error);
  held.reset();
  folder_lock const again{folder_};
}

}  // namespace
}  // namespace lull
