// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/statistics.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <lull/host/error.hpp>

namespace lull {
namespace {

void require(bool holds, char const* message) {
  if (!holds) throw usage_error(message);
}

}  // namespace

double percentile(std::span<double const> sorted, std::uint32_t per_mille) {
  require(!sorted.empty(), "a percentile needs at least one sample");
  require(per_mille >= 1 && per_mille <= 1000, "a percentile is 1 to 1000 thousandths");
  std::size_t const n = sorted.size();
  // ⌈n · per_mille / 1000⌉ without a product that overflows.
  std::size_t const rank = n / 1000 * per_mille + (n % 1000 * per_mille + 999) / 1000;
  return sorted[rank - 1];
}

double quantile(std::vector<double> values, double p) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  auto const rank = static_cast<std::size_t>(std::ceil(p * static_cast<double>(values.size())));
  return values[std::min(values.size() - 1, rank == 0 ? 0 : rank - 1)];
}

double mean(std::span<double const> samples) {
  require(!samples.empty(), "a mean needs at least one sample");
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

double median(std::vector<double> samples) {
  require(!samples.empty(), "a median needs at least one sample");
  std::sort(samples.begin(), samples.end());
  std::size_t const middle = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[middle] : std::midpoint(samples[middle - 1], samples[middle]);
}

distribution summarise(std::span<double const> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  for (double const sample : sorted) require(std::isfinite(sample), "a sample is not finite");
  if (sorted.empty()) return {};
  std::sort(sorted.begin(), sorted.end());
  return {.n = sorted.size(),
          .p50 = percentile(sorted, 500),
          .p99 = percentile(sorted, 990),
          .p999 = percentile(sorted, 999),
          .max = sorted.back()};
}

slowdown paired_slowdown(std::span<double const> baseline, std::span<double const> with_side_tasks) {
  require(!baseline.empty() && baseline.size() == with_side_tasks.size(), "a slowdown needs whole pairs, at least one");
  auto const pairs = static_cast<double>(baseline.size());
  std::vector<double> log_ratios;
  double log_baseline = 0;
  for (std::size_t i = 0; i < baseline.size(); ++i) {
    require(
        baseline[i] > 0 && with_side_tasks[i] > 0 && std::isfinite(baseline[i]) && std::isfinite(with_side_tasks[i]),
        "a run's time is not positive and finite");
    log_ratios.push_back(std::log(with_side_tasks[i] / baseline[i]));
    log_baseline += std::log(baseline[i]) / pairs;
  }
  double mean = 0;
  for (double const ratio : log_ratios) mean += ratio / pairs;
  slowdown result{.pairs = baseline.size(),
                  .baseline = std::exp(log_baseline),
                  .with_side_tasks = std::exp(log_baseline + mean),
                  .percent = 100 * std::expm1(mean),
                  .ci95_percent = std::nullopt};
  if (baseline.size() > 1) {
    double squares = 0;
    for (double const ratio : log_ratios) squares += (ratio - mean) * (ratio - mean);
    double const half = student_t975(baseline.size() - 1) * std::sqrt(squares / (pairs - 1) / pairs);
    result.ci95_percent = interval95{100 * std::expm1(mean - half), 100 * std::expm1(mean + half)};
  }
  return result;
}

double student_t975(std::uint64_t degrees_of_freedom) {
  require(degrees_of_freedom >= 1, "Student's t needs at least one degree of freedom");
  constexpr std::array table{12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
                             2.2010,  2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860};
  if (degrees_of_freedom <= table.size()) return table[degrees_of_freedom - 1];
  // Expansion in 1/ν about the normal quantile (Abramowitz and Stegun 26.7.5): below 1e-5 off from ν = 21 on.
  double const z = 1.959963984540054;
  double const v = 1 / static_cast<double>(degrees_of_freedom);
  double const z2 = z * z;
  return z + v * z * (z2 + 1) / 4 + v * v * z * ((5 * z2 + 16) * z2 + 3) / 96 +
         v * v * v * z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
}

}  // namespace lull
