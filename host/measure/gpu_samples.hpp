// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include <lull/host/report/gpu_monitor.hpp>

namespace lull {

/// Field by field over the samples that have it: the median; for power_capped, whether any sample was.
gpu_state summarise(std::span<gpu_state const> samples);

/// Clocks and power of a GPU, looked at from time to time.
class gpu_samples {
 public:
  explicit gpu_samples(std::string const& pci_bus_id, std::chrono::nanoseconds every = std::chrono::milliseconds{100})
      : monitor_(pci_bus_id), every_(every) {}

  /// Does nothing where the last sample is not `every` old. Takes up to milliseconds.
  void take();
  bool empty() const noexcept { return samples_.empty(); }
  /// Of all samples; its fields are nothing where there is none.
  gpu_state summary() const { return summarise(samples_); }

 private:
  gpu_monitor const monitor_;
  std::chrono::nanoseconds const every_;
  std::vector<gpu_state> samples_;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace lull
