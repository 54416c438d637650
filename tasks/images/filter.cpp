// SPDX-License-Identifier: Apache-2.0
#include <lull/tasks/images/filter.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lull {

namespace {

constexpr double lobes = 3;

double sinc(double x) { return x == 0 ? 1.0 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }

double lanczos3(double x) { return std::abs(x) < lobes ? sinc(x) * sinc(x / lobes) : 0.0; }

/// Returns half of a sample's reach, in samples of the source.
double reach_of(image_filter filter, double ratio) {
  return filter == image_filter::area ? ratio / 2 : lobes * std::max(ratio, 1.0);
}

struct span {
  std::uint32_t first;
  std::uint32_t past;
};

/// Returns the source samples of the sample `at`.
span span_of(image_filter filter, std::uint32_t from, std::uint32_t to, std::uint32_t at) {
  double const ratio = static_cast<double>(from) / to;
  double const reach = reach_of(filter, ratio);
  double const centre = (at + 0.5) * ratio;
  auto const first = static_cast<std::uint32_t>(std::max(0.0, std::floor(centre - reach)));
  return {first, static_cast<std::uint32_t>(std::clamp<double>(std::ceil(centre + reach), first + 1.0, from))};
}

}  // namespace

std::uint32_t max_taps(image_filter filter, std::uint32_t from, std::uint32_t to) noexcept {
  double const ratio = static_cast<double>(from) / to;
  return static_cast<std::uint32_t>(std::min<double>(from, std::ceil(2 * reach_of(filter, ratio)) + 1));
}

std::uint32_t max_shared_taps(image_filter filter, std::uint32_t from, std::uint32_t to,
                              std::uint32_t together) noexcept {
  std::uint32_t most = 0;
  for (std::uint32_t at = 0; at < to; at += together) {
    span const first = span_of(filter, from, to, at);
    span const last = span_of(filter, from, to, std::min(at + together, to) - 1);
    most = std::max(most, last.past - first.first);
  }
  return most;
}

std::vector<taps> taps_of(image_filter filter, std::uint32_t from, std::uint32_t to, std::vector<float>& weights) {
  double const ratio = static_cast<double>(from) / to;
  double const reach = reach_of(filter, ratio);
  std::vector<taps> made;
  made.reserve(to);
  std::vector<double> exact;
  for (std::uint32_t at = 0; at < to; ++at) {
    auto const [first, past] = span_of(filter, from, to, at);
    double const centre = (at + 0.5) * ratio;
    exact.clear();
    double sum = 0;
    for (std::uint32_t sample = first; sample < past; ++sample) {
      double const weight =
          filter == image_filter::area
              ? std::max(0.0, std::min(sample + 1.0, centre + reach) - std::max<double>(sample, centre - reach))
              : lanczos3((sample + 0.5 - centre) / std::max(ratio, 1.0));
      exact.push_back(weight);
      sum += weight;
    }
    made.push_back({first, past - first, static_cast<std::uint32_t>(weights.size())});
    for (double const weight : exact) weights.push_back(static_cast<float>(weight / sum));
  }
  return made;
}

}  // namespace lull
