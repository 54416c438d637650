// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/host/measure/statistics.hpp>

namespace lull {
namespace {

std::vector<double> up_to(std::size_t n) {
  std::vector<double> samples;
  for (std::size_t i = 1; i <= n; ++i) samples.push_back(static_cast<double>(i));
  return samples;
}

TEST(statistics, percentiles_by_nearest_rank) {
  EXPECT_EQ(percentile(up_to(1000), 500), 500);
  EXPECT_EQ(percentile(up_to(1000), 990), 990);
  EXPECT_EQ(percentile(up_to(1000), 999), 999);
  EXPECT_EQ(percentile(up_to(1001), 999), 1000);
  EXPECT_EQ(percentile(up_to(999), 999), 999);
  EXPECT_EQ(percentile(up_to(10), 990), 10);
  EXPECT_EQ(percentile(up_to(5), 500), 3);
  EXPECT_EQ(percentile(up_to(4), 500), 2);
  EXPECT_EQ(percentile(up_to(4), 1), 1);
  EXPECT_EQ(percentile(up_to(4), 1000), 4);
  EXPECT_EQ(percentile(up_to(1), 999), 1);
  EXPECT_EQ(percentile(up_to(123'457), 999), std::ceil(123.457 * 999));
}

TEST(statistics, quantiles_are_the_same_ranks_of_samples_in_any_order) {
  std::vector<double> const samples{4, 2, 3, 1};
  EXPECT_EQ(quantile(samples, 0), 1);
  EXPECT_EQ(quantile(samples, 0.5), 2);
  EXPECT_EQ(quantile(samples, 0.51), 3);
  EXPECT_EQ(quantile(samples, 1), 4);
  EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

TEST(statistics, mean_of_some_and_of_none) {
  EXPECT_EQ(mean(up_to(4)), 2.5);
  EXPECT_THROW(mean({}), usage_error);
}

TEST(statistics, median_of_even_and_odd) {
  EXPECT_EQ(median(up_to(5)), 3);
  EXPECT_EQ(median(up_to(4)), 2.5);
  EXPECT_EQ(median(up_to(1)), 1);
}

TEST(statistics, summary_of_unsorted_samples_and_of_none) {
  std::vector<double> const samples{3, 1, 2, 5, 4};
  distribution const some = summarise(samples);
  EXPECT_EQ(some.n, 5u);
  EXPECT_EQ(some.p50, 3);
  EXPECT_EQ(some.p99, 5);
  EXPECT_EQ(some.p999, 5);
  EXPECT_EQ(some.max, 5);
  distribution const none = summarise({});
  EXPECT_EQ(none.n, 0u);
  EXPECT_FALSE(none.p50 || none.p99 || none.p999 || none.max);
}

// By hand: log ratios ln 1.02, ln 1.04, ln 1.03, mean 0.0295277, standard deviation 0.0097089, t(2) = 4.3027.
TEST(statistics, paired_slowdown_by_hand) {
  std::vector<double> const baseline{100, 200, 50};
  std::vector<double> const treated{102, 208, 51.5};
  slowdown const result = paired_slowdown(baseline, treated);
  EXPECT_EQ(result.pairs, 3u);
  EXPECT_NEAR(result.baseline, 100, 1e-9);
  EXPECT_NEAR(result.percent, 2.99676, 1e-5);
  EXPECT_NEAR(result.with_side_tasks / result.baseline, 1 + result.percent / 100, 1e-12);
  ASSERT_TRUE(result.ci95_percent);
  EXPECT_NEAR(result.ci95_percent->low, 0.54231, 1e-4);
  EXPECT_NEAR(result.ci95_percent->high, 5.51114, 1e-4);
}

// A drift that both runs of a pair share leaves no trace; one that is not shared widens the interval.
TEST(statistics, drift_shared_by_a_pair_cancels) {
  std::vector<double> const baseline{100, 110, 130, 90};
  std::vector<double> const treated{101, 111.1, 131.3, 90.9};
  slowdown const result = paired_slowdown(baseline, treated);
  EXPECT_NEAR(result.percent, 1, 1e-9);
  EXPECT_NEAR(result.ci95_percent->low, 1, 1e-9);
  EXPECT_NEAR(result.ci95_percent->high, 1, 1e-9);
}

TEST(statistics, twice_and_half_cancel) {
  std::vector<double> const baseline{10, 10};
  std::vector<double> const treated{20, 5};
  EXPECT_NEAR(paired_slowdown(baseline, treated).percent, 0, 1e-9);
}

TEST(statistics, one_pair_has_no_interval) {
  std::vector<double> const baseline{10};
  std::vector<double> const treated{9};
  slowdown const result = paired_slowdown(baseline, treated);
  EXPECT_NEAR(result.percent, -10, 1e-9);
  EXPECT_FALSE(result.ci95_percent);
}

TEST(statistics, students_quantiles_as_in_printed_tables) {
  EXPECT_NEAR(student_t975(1), 12.7062, 5e-5);
  EXPECT_NEAR(student_t975(9), 2.2622, 5e-5);
  EXPECT_NEAR(student_t975(20), 2.0860, 5e-5);
  EXPECT_NEAR(student_t975(21), 2.0796, 5e-5);
  EXPECT_NEAR(student_t975(30), 2.0423, 5e-5);
  EXPECT_NEAR(student_t975(60), 2.0003, 5e-5);
  EXPECT_NEAR(student_t975(120), 1.9799, 5e-5);
  EXPECT_NEAR(student_t975(1'000'000), 1.9600, 5e-5);
  for (std::uint64_t degrees = 2; degrees < 200; ++degrees) EXPECT_LT(student_t975(degrees), student_t975(degrees - 1));
}

TEST(statistics, what_is_no_measurement_is_refused) {
  std::vector<double> const one{1}, two{1, 2}, zero{0}, negative{-1}, nan{std::nan("")};
  std::vector<double> const infinite{std::numeric_limits<double>::infinity()};
  EXPECT_THROW(percentile({}, 500), usage_error);
  EXPECT_THROW(percentile(one, 0), usage_error);
  EXPECT_THROW(percentile(one, 1001), usage_error);
  EXPECT_THROW(median({}), usage_error);
  EXPECT_THROW(summarise(nan), usage_error);
  EXPECT_THROW(paired_slowdown({}, {}), usage_error);
  EXPECT_THROW(paired_slowdown(one, two), usage_error);
  EXPECT_THROW(paired_slowdown(zero, one), usage_error);
  EXPECT_THROW(paired_slowdown(one, negative), usage_error);
  EXPECT_THROW(paired_slowdown(one, nan), usage_error);
  EXPECT_THROW(paired_slowdown(infinite, one), usage_error);
  EXPECT_THROW(student_t975(0), usage_error);
}

}  // namespace
}  // namespace lull
