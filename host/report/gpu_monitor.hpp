// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

namespace lull {

/// What a GPU does at one moment. What the driver does not tell is nothing.
struct gpu_state {
  std::optional<double> sm_mhz;
  std::optional<double> memory_mhz;
  std::optional<double> power_w;
  std::optional<double> temperature_c;
  std::optional<bool> power_capped;  // the power limit holds the clocks down

  bool operator==(gpu_state const&) const = default;
};

struct gpu_description {
  std::optional<std::string> name;
  std::optional<std::string> driver;
  std::optional<double> sm_max_mhz;
  std::optional<double> memory_max_mhz;
  std::optional<double> power_limit_w;  // that is enforced now
  gpu_state state;                      // when it was described, or over a run where that was sampled
};

/// Clocks and power of one GPU, by NVML. The library is loaded when asked for, so that nothing of the driver is needed
/// to build, link or start; where it or the GPU is missing, or NVML says no, fields are nothing and no call throws.
/// Calls take up to milliseconds, so no thread that a trainer waits for makes them. Safe to call from several threads.
class gpu_monitor {
 public:
  static constexpr char const* nvml = "libnvidia-ml.so.1";

  /// `pci_bus_id` as cudaDeviceGetPCIBusId gives it (NVML counts devices otherwise than CUDA does); empty: the first.
  explicit gpu_monitor(std::string const& pci_bus_id = {}, std::string const& library = nvml);
  ~gpu_monitor();
  gpu_monitor(gpu_monitor const&) = delete;
  gpu_monitor& operator=(gpu_monitor const&) = delete;

  bool available() const noexcept { return library_ != nullptr; }
  std::optional<gpu_description> describe() const;  // nothing if not available
  gpu_state sample() const;
  std::optional<double> power_limit_w() const;  // that is enforced now

 private:
  struct library;
  std::unique_ptr<library> library_;
};

/// What a GPU did over a run, from samples at equal distances.
struct gpu_summary {
  class spread {
   public:
    void add(double value) noexcept {
      least_ = std::min(least_, value);
      most_ = std::max(most_, value);
      total_ += value;
      ++samples_;
    }
    std::uint64_t samples() const noexcept { return samples_; }
    // If there is a sample:
    double least() const noexcept { return least_; }
    double mean() const noexcept { return total_ / static_cast<double>(samples_); }
    double most() const noexcept { return most_; }

   private:
    double least_ = std::numeric_limits<double>::infinity();
    double most_ = -std::numeric_limits<double>::infinity();
    double total_ = 0;
    std::uint64_t samples_ = 0;
  };

  std::uint64_t samples = 0;
  spread sm_mhz;
  spread power_w;
  spread temperature_c;
  spread power_capped;  // 1 where the power limit held the clocks down, else 0
  std::optional<double> power_limit_w;

  void add(gpu_state const& now) noexcept {
    ++samples;
    if (now.sm_mhz) sm_mhz.add(*now.sm_mhz);
    if (now.power_w) power_w.add(*now.power_w);
    if (now.temperature_c) temperature_c.add(*now.temperature_c);
    if (now.power_capped) power_capped.add(*now.power_capped ? 1 : 0);
  }
};

}  // namespace lull
