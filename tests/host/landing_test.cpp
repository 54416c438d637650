// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <lull/host/landing.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr auto gap = 1000ns;

landing_policy after(std::initializer_list<std::chrono::nanoseconds> leavings, int times = 16) {
  landing_policy made;
  for (int i = 0; i < times; ++i) made.add(leavings.begin()[static_cast<std::size_t>(i) % leavings.size()]);
  return made;
}

TEST(landing_policy, makes_the_gap_longer_until_something_is_known) {
  EXPECT_EQ(landing_policy{}.choose(gap), (landing{false, landing_policy::at_first}));
  EXPECT_EQ(after({9us}, 15).choose(gap), (landing{false, landing_policy::at_first}));
}

TEST(landing_policy, asks_nothing_of_workers_that_leave_within_the_gap) {
  EXPECT_EQ(after({400ns, 1000ns}).choose(gap), landing{});
}

TEST(landing_policy, makes_the_gap_longer_by_what_they_need) {
  EXPECT_EQ(after({400ns, 1700ns}).choose(gap), (landing{false, 700ns}));
  EXPECT_EQ(after({4000ns}).choose(gap), (landing{false, 3000ns}));
}

TEST(landing_policy, waits_for_those_that_take_longer) { EXPECT_EQ(after({4001ns}).choose(gap), (landing{true, 0ns})); }

TEST(landing_policy, forgives_one_late_leaving_but_not_two) {
  landing_policy lately = after({1000ns});
  lately.add(9us);
  EXPECT_EQ(lately.choose(gap), landing{});
  lately.add(9us);
  EXPECT_EQ(lately.choose(gap), (landing{true, 0ns}));
  for (int i = 0; i < 16; ++i) lately.add(1000ns);
  EXPECT_EQ(lately.choose(gap), landing{});
}

}  // namespace
}  // namespace lull
