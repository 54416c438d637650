// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <lull/host/detail/gate/close_policy.hpp>

namespace lull::detail {
namespace {

using namespace std::chrono_literals;

constexpr auto gap = 1000ns;

close_policy after(std::initializer_list<std::chrono::nanoseconds> leavings, int times = 16) {
  close_policy made;
  for (int i = 0; i < times; ++i) made.add(leavings.begin()[static_cast<std::size_t>(i) % leavings.size()]);
  return made;
}

TEST(close_policy, makes_the_gap_longer_until_something_is_known) {
  EXPECT_EQ(close_policy{}.choose(gap), (closing{false, close_policy::at_first}));
  EXPECT_EQ(after({9us}, 15).choose(gap), (closing{false, close_policy::at_first}));
}

TEST(close_policy, asks_nothing_of_workers_that_leave_within_the_gap) {
  EXPECT_EQ(after({400ns, 1000ns}).choose(gap), closing{});
}

TEST(close_policy, makes_the_gap_longer_by_what_they_need) {
  EXPECT_EQ(after({400ns, 1700ns}).choose(gap), (closing{false, 700ns}));
  EXPECT_EQ(after({4000ns}).choose(gap), (closing{false, 3000ns}));
}

TEST(close_policy, waits_for_those_that_take_longer) { EXPECT_EQ(after({4001ns}).choose(gap), (closing{true, 0ns})); }

TEST(close_policy, forgives_one_late_leaving_but_not_two) {
  close_policy lately = after({1000ns});
  lately.add(9us);
  EXPECT_EQ(lately.choose(gap), closing{});
  lately.add(9us);
  EXPECT_EQ(lately.choose(gap), (closing{true, 0ns}));
  for (int i = 0; i < 16; ++i) lately.add(1000ns);
  EXPECT_EQ(lately.choose(gap), closing{});
}

}  // namespace
}  // namespace lull::detail
