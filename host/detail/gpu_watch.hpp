// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include <lull/host/report/gpu_monitor.hpp>

namespace lull::detail {

/// Samples clocks and power of a GPU for the reports, on a thread of its own: NVML takes milliseconds, and the
/// dispatcher has no time for that. Without NVML there are no samples. Thread-safe.
class gpu_watch {
 public:
  static constexpr std::chrono::seconds between_samples{1};

  /// As gpu_monitor. The thread opens NVML.
  explicit gpu_watch(std::string pci_bus_id, std::string library = gpu_monitor::nvml,
                     std::chrono::nanoseconds every = between_samples);
  /// Waits for the call of NVML that is going on.
  ~gpu_watch();
  gpu_watch(gpu_watch const&) = delete;
  gpu_watch& operator=(gpu_watch const&) = delete;

  gpu_summary so_far() const;

 private:
  void serve(std::string const& pci_bus_id, std::string const& library, std::chrono::nanoseconds every);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  gpu_summary sum_;
  bool ending_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace lull::detail
