// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <lull/host/detail/runtime/step_finder.hpp>

namespace lull::detail {
namespace {

TEST(step_finder, waits_for_the_program_and_then_goes_by_one_site_of_one_stream) {
  step_finder of;
  for (std::uint32_t opening = 1; opening < step_finder::patience; ++opening) EXPECT_FALSE(of.begins(1, "a"));
  EXPECT_TRUE(of.begins(1, "b"));
  EXPECT_FALSE(of.begins(1, "a"));
  EXPECT_FALSE(of.begins(2, "b"));
  EXPECT_TRUE(of.begins(1, "b"));
}

TEST(step_finder, gives_up_a_site_that_opens_no_more) {
  step_finder of;
  for (std::uint32_t opening = 1; opening < step_finder::patience; ++opening) of.begins(1, "a");
  EXPECT_TRUE(of.begins(1, ""));  // a name like any other
  for (std::uint32_t opening = 1; opening < step_finder::max_elsewhere; ++opening) EXPECT_FALSE(of.begins(1, "a"));
  EXPECT_TRUE(of.begins(1, ""));
  for (std::uint32_t opening = 1; opening < step_finder::max_elsewhere; ++opening) EXPECT_FALSE(of.begins(1, "a"));
  EXPECT_TRUE(of.begins(1, "c"));
  EXPECT_FALSE(of.begins(1, ""));
  EXPECT_TRUE(of.begins(1, "c"));
}

}  // namespace
}  // namespace lull::detail
