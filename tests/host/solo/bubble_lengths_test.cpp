// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/error.hpp>
#include <lull/host/solo/bubble_lengths.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

std::vector<nanoseconds> drawn(std::uint64_t seed, nanoseconds shortest = 50us, nanoseconds longest = 5ms) {
  bubble_lengths lengths{shortest, longest, seed};
  std::vector<nanoseconds> found(10'000);
  for (nanoseconds& each : found) each = lengths.next();
  return found;
}

TEST(bubble_lengths, lie_between_the_two) {
  auto const [least, most] = std::ranges::minmax(drawn(1));
  EXPECT_GE(least, 50us);
  EXPECT_LT(least, 51us);
  EXPECT_LE(most, 5ms);
  EXPECT_GT(most, 4900us);
}

TEST(bubble_lengths, are_log_uniform) {
  std::vector<nanoseconds> const found = drawn(1);
  auto const below = [&](nanoseconds limit) {
    return std::ranges::count_if(found, [=](nanoseconds each) { return each < limit; });
  };
  // Of 10,000; four standard deviations are 200.
  EXPECT_NEAR(below(158'114ns), 2500, 200);
  EXPECT_NEAR(below(500us), 5000, 200);
  EXPECT_NEAR(below(1'581'139ns), 7500, 200);
}

TEST(bubble_lengths, follow_from_the_seed) {
  EXPECT_EQ(drawn(7), drawn(7));
  EXPECT_NE(drawn(7), drawn(8));
}

TEST(bubble_lengths, may_be_all_alike) { EXPECT_EQ(drawn(1, 3us, 3us), std::vector<nanoseconds>(10'000, 3us)); }

TEST(bubble_lengths, that_make_no_interval_are_refused) {
  EXPECT_THROW((bubble_lengths{0ns, 5ms, 1}), usage_error);
  EXPECT_THROW((bubble_lengths{-1us, 5ms, 1}), usage_error);
  EXPECT_THROW((bubble_lengths{5ms, 50us, 1}), usage_error);
}

}  // namespace
}  // namespace lull
