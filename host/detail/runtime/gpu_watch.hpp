// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <lull/host/report/gpu_monitor.hpp>

namespace lull::detail {

/// Samples clocks and power of a GPU for the reports, on its own thread: NVML takes milliseconds, which would delay the
/// dispatcher. Without NVML, or a thread, there are no samples. Thread-safe.
class gpu_watch {
 public:
  static constexpr std::chrono::seconds between_samples{1};
  static constexpr std::chrono::seconds max_nvml_wait{2};

  /// As gpu_monitor. The thread opens NVML.
  explicit gpu_watch(std::string pci_bus_id, std::string library = gpu_monitor::nvml,
                     std::chrono::nanoseconds every = between_samples);
  /// Waits for a call of NVML that is under way, for at most `max_nvml_wait`: a lost GPU may never return it.
  ~gpu_watch();
  gpu_watch(gpu_watch const&) = delete;
  gpu_watch& operator=(gpu_watch const&) = delete;

  gpu_summary so_far() const;

 private:
  struct shared;
  std::shared_ptr<shared> shared_;
  std::thread thread_;
};

}  // namespace lull::detail
