// SPDX-License-Identifier: Apache-2.0
#include <lull/host/memory_account.hpp>

#include <string>

#include <gtest/gtest.h>

namespace lull {
namespace {

TEST(memory_account, of_no_limit_takes_everything) {
  memory_account all{0};
  EXPECT_EQ(all.left(), any_bytes);
  all.take(any_bytes / 2);
  EXPECT_EQ(all.left(), any_bytes);
  EXPECT_EQ(all.taken().now, any_bytes / 2);
}

TEST(memory_account, refuses_what_is_more_than_its_limit_and_has_taken_nothing_then) {
  memory_account some{100};
  some.take(60);
  EXPECT_THROW(some.take(41), limit_error);
  EXPECT_THROW(some.take(any_bytes), limit_error);
  EXPECT_EQ(some.left(), 40U);
  some.take(40);
  EXPECT_EQ(some.left(), 0U);
  some.give_back(60);
  EXPECT_EQ(some.left(), 60U);
  EXPECT_EQ(some.taken().now, 40U);
  EXPECT_EQ(some.taken().most, 100U);
}

TEST(memory_account, keeps_what_is_reserved) {
  memory_account some{100};
  some.take(50, 50);
  EXPECT_THROW(some.take(1, 50), limit_error);
  EXPECT_THROW(some.take(0, 51), limit_error);
  try {
    some.take(1, 50);
  } catch (limit_error const& why) {
    EXPECT_NE(std::string{why.what()}.find("limit of 100 bytes reached: 50 are in use, 50 are reserved"),
              std::string::npos)
        << why.what();
  }
  some.take(50);
  EXPECT_THROW(some.take(1), limit_error);
}

}  // namespace
}  // namespace lull
