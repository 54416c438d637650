// SPDX-License-Identifier: Apache-2.0
// What rows of a measurement come to. Rows are made up;
// tests/host/measure/cuda_waiting_test.cpp measures.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lull/host/measure/waiting_cost.hpp>

namespace lull {
namespace {

/// Three streams: the first never costs anything, the second with two waits, the third always.
std::vector<waiting_row> const rows{
    {0, 1, 2500, 9500}, {0, 1, 2500, 2510}, {0, 1, 2500, 2490},  // one wild pair of three
    {1, 1, 2600, 2650}, {2, 1, 2600, 3900},                      //
    {0, 2, 2500, 2500}, {1, 2, 2600, 4000}, {2, 2, 2700, 4200},
};

bool says(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

TEST(waiting_cost, is_the_range_of_the_streams_medians) {
  waiting_cost const cost = summarise(rows);
  EXPECT_EQ(cost.why_not, "");
  EXPECT_DOUBLE_EQ(cost.base_us, 2.55);
  EXPECT_EQ(cost.one_wait.streams, 3U);
  EXPECT_DOUBLE_EQ(cost.one_wait.min_us, 0.01);
  EXPECT_DOUBLE_EQ(cost.one_wait.median_us, 0.05);
  EXPECT_DOUBLE_EQ(cost.one_wait.max_us, 1.3);
  EXPECT_EQ(cost.two_waits.streams, 3U);
  EXPECT_DOUBLE_EQ(cost.two_waits.min_us, 0.0);
  EXPECT_DOUBLE_EQ(cost.two_waits.median_us, 1.4);
  EXPECT_DOUBLE_EQ(cost.two_waits.max_us, 1.5);
}

TEST(waiting_cost, is_not_measured_where_rows_of_one_kind_are_missing) {
  for (std::vector<waiting_row> const& few : {std::vector<waiting_row>{}, {rows.front()}, {rows.back()}}) {
    EXPECT_TRUE(says(summarise(few).why_not, "not measured: ")) << few.size();
  }
}

}  // namespace
}  // namespace lull
