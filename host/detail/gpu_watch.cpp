// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/gpu_watch.hpp>

#include <utility>

namespace lull::detail {

gpu_watch::gpu_watch(std::string pci_bus_id, std::string library, std::chrono::nanoseconds every) {
  thread_ = std::thread{[this, every, bus = std::move(pci_bus_id), path = std::move(library)] {
    try {
      serve(bus, path, every);
    } catch (std::exception const&) {  // no memory: then there are no further samples
    }
  }};
}

gpu_watch::~gpu_watch() {
  {
    std::lock_guard const lock{mutex_};
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

gpu_summary gpu_watch::so_far() const {
  std::lock_guard const lock{mutex_};
  return sum_;
}

void gpu_watch::serve(std::string const& pci_bus_id, std::string const& library, std::chrono::nanoseconds every) {
  gpu_monitor const monitor{pci_bus_id, library};
  std::optional<gpu_description> const gpu = monitor.describe();
  if (!gpu) return;
  std::unique_lock lock{mutex_};
  sum_.power_limit_w = gpu->power_limit_w;
  while (!ending_) {
    lock.unlock();
    gpu_state const now = monitor.sample();
    lock.lock();
    sum_.add(now);
    changed_.wait_for(lock, every, [this] { return ending_; });
  }
}

}  // namespace lull::detail
