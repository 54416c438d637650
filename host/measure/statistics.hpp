// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lull {

/// Percentile by nearest rank: the smallest sample that at least `per_mille` thousandths of all samples do not exceed
/// (rank ⌈n · per_mille / 1000⌉; Hyndman and Fan 1996, definition 1). Always a value that was seen, never one between
/// two: a tail of ten samples has no p99 of its own, and this says so by giving the maximum.
/// `sorted` ascends and is not empty; per_mille is 1 to 1000. Errors: usage_error.
double percentile(std::span<double const> sorted, std::uint32_t per_mille);

/// The same rank for a share `p` in [0, 1], of samples in any order; NaN of nothing.
double quantile(std::vector<double> values, double p);

/// At least one sample. Errors: usage_error.
double mean(std::span<double const> samples);

/// The middle sample, or the mean of the two in the middle. At least one, in any order. Errors: usage_error.
double median(std::vector<double> samples);

struct distribution {
  std::uint64_t n = 0;
  // Nothing where there is no sample.
  std::optional<double> p50;
  std::optional<double> p99;
  std::optional<double> p999;
  std::optional<double> max;
};

/// All of them finite; in any order. Errors: usage_error for one that is not finite.
distribution summarise(std::span<double const> samples);

struct interval95 {
  double low;
  double high;
};

struct slowdown {
  std::uint64_t pairs;
  double baseline;  // geometric means, so that with_side_tasks / baseline is the very ratio that percent states
  double with_side_tasks;
  double percent;                          // above 0: slower
  std::optional<interval95> ci95_percent;  // nothing for one pair, which says nothing about its own spread
};

/// How much longer the same training took beside side work, from runs made in pairs.
///
/// Method: the mean of the logarithms of the pairs' ratios, with Student's t for its 95 % confidence interval, turned
/// back into per cent. Pairs, because clocks and temperature drift over minutes and hit both runs of a pair alike.
/// Logarithms, because times are positive and their ratios symmetric only there: twice as long and half as long cancel.
/// Student's t, because pairs are few (10 by default) and their spread is itself estimated; resampling ten ratios gives
/// intervals that are too narrow. It assumes that the ratios' logarithms are about normal and independent; one wild
/// pair widens the interval, as it should.
///
/// Runs are equally many, at least one each, positive and finite; the i-th of each make a pair. Errors: usage_error.
slowdown paired_slowdown(std::span<double const> baseline, std::span<double const> with_side_tasks);

/// The t below which Student's distribution with so many degrees of freedom (at least 1) has 97.5 % of its mass, to
/// 4 digits after the point.
double student_t975(std::uint64_t degrees_of_freedom);

}  // namespace lull
