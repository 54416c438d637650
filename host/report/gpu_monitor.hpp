// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

namespace lull {

/// What a GPU does at one moment. What the driver does not report has no value.
struct gpu_state {
  std::optional<double> sm_mhz;
  std::optional<double> memory_mhz;
  std::optional<double> power_w;
  std::optional<double> temperature_c;
  std::optional<bool> power_capped;  // the power limit lowers the clocks

  bool operator==(gpu_state const&) const = default;
};

struct gpu_description {
  std::optional<std::string> name;
  std::optional<std::string> driver;
  std::optional<double> sm_max_mhz;
  std::optional<double> memory_max_mhz;
  std::optional<double> power_limit_w;  // the one enforced now
  gpu_state state;                      // when it was described, or over a sampled run
};

/// Reads clocks and power of one GPU by NVML. The library is loaded at run time, so building, linking and starting need
/// nothing of the driver. If the library or the GPU is missing, or NVML fails, fields have no value and no call throws.
/// Calls take up to milliseconds, so no thread that a trainer waits for makes them. Thread-safe.
class gpu_monitor {
 public:
  static constexpr char const* nvml = "libnvidia-ml.so.1";

  /// `pci_bus_id` as from cudaDeviceGetPCIBusId, because NVML numbers devices differently from CUDA; empty: the first.
  explicit gpu_monitor(std::string const& pci_bus_id = {}, std::string const& library = nvml);
  ~gpu_monitor();
  gpu_monitor(gpu_monitor const&) = delete;
  gpu_monitor& operator=(gpu_monitor const&) = delete;

  bool available() const noexcept { return library_ != nullptr; }
  std::optional<gpu_description> describe() const;  // nothing if not available
  gpu_state sample() const;
  std::optional<double> power_limit_w() const;  // the one enforced now

 private:
  struct library;
  std::unique_ptr<library> library_;
};

/// What a GPU did during a run, from samples at equal intervals.
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
  spread power_capped;  // 1 if the power limit lowered the clocks, else 0
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
