// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
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

/// Field by field over the samples that have it: the median; for power_capped, whether any sample was.
gpu_state summarise(std::span<gpu_state const> samples);

struct gpu_description {
  std::optional<std::string> name;
  std::optional<std::string> driver;
  std::optional<double> sm_max_mhz;
  std::optional<double> memory_max_mhz;
  std::optional<double> power_limit_w;  // that is enforced now
  gpu_state state;                      // when it was described, or over a run where that was sampled
};

struct machine_description {
  std::optional<std::string> cpu;
  std::optional<std::uint32_t> cpus;         // logical, online
  std::optional<std::uint32_t> usable_cpus;  // of these, that this process may run on
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::string> kernel;
  std::optional<std::string> os;
  std::optional<gpu_description> gpu;
};

/// The host's part; `gpu` is left empty. `root` stands before /proc and /etc, for tests.
machine_description describe_host(std::filesystem::path const& root = "/");

/// Clocks and power of one GPU, by NVML. The library is loaded when asked for, so that nothing of the driver is needed
/// to build, link or start; where it or the GPU is missing, or NVML says no, fields are nothing and no call throws.
/// Calls take up to milliseconds: between runs, not inside. Safe to call from several threads.
class gpu_monitor {
 public:
  /// `pci_bus_id` as cudaDeviceGetPCIBusId gives it (NVML counts devices otherwise than CUDA does); empty: the first.
  explicit gpu_monitor(std::string const& pci_bus_id = {}, std::string const& library = "libnvidia-ml.so.1");
  ~gpu_monitor();
  gpu_monitor(gpu_monitor const&) = delete;
  gpu_monitor& operator=(gpu_monitor const&) = delete;

  bool available() const noexcept { return library_ != nullptr; }
  std::optional<gpu_description> describe() const;  // nothing if not available
  gpu_state sample() const;

 private:
  struct library;
  std::unique_ptr<library> library_;
};

}  // namespace lull
