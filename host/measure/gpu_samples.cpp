// SPDX-License-Identifier: Apache-2.0
#include <lull/host/measure/gpu_samples.hpp>

#include <optional>
#include <vector>

#include <lull/host/measure/statistics.hpp>

namespace lull {
namespace {

template <class Member>
std::optional<double> median_of(std::span<gpu_state const> samples, Member member) {
  std::vector<double> values;
  for (gpu_state const& sample : samples) {
    if (sample.*member) values.push_back(*(sample.*member));
  }
  return values.empty() ? std::nullopt : std::optional{median(values)};
}

}  // namespace

gpu_state summarise(std::span<gpu_state const> samples) {
  gpu_state result{.sm_mhz = median_of(samples, &gpu_state::sm_mhz),
                   .memory_mhz = median_of(samples, &gpu_state::memory_mhz),
                   .power_w = median_of(samples, &gpu_state::power_w),
                   .temperature_c = median_of(samples, &gpu_state::temperature_c),
                   .power_capped = std::nullopt};
  for (gpu_state const& sample : samples) {
    if (sample.power_capped) result.power_capped = *sample.power_capped || result.power_capped.value_or(false);
  }
  return result;
}

void gpu_samples::take() {
  auto const now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + every_;
  samples_.push_back(monitor_.sample());
}

}  // namespace lull
