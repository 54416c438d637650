// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/runtime/gpu_watch.hpp>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <utility>

namespace lull::detail {

struct gpu_watch::shared {
  mutable std::mutex mutex;
  std::condition_variable changed;
  gpu_summary sum;
  bool ending = false;
  bool has_ended = false;

  void serve(std::string const& pci_bus_id, std::string const& library, std::chrono::nanoseconds every) {
    gpu_monitor const monitor{pci_bus_id, library};
    if (!monitor.available()) return;
    std::optional<double> const limit = monitor.power_limit_w();
    std::unique_lock lock{mutex};
    sum.power_limit_w = limit;
    while (!ending) {
      lock.unlock();
      gpu_state const now = monitor.sample();
      lock.lock();
      sum.add(now);
      changed.wait_for(lock, every, [this] { return ending; });
    }
  }
  void end() {
    std::lock_guard const lock{mutex};
    has_ended = true;
    changed.notify_all();
  }
};

gpu_watch::gpu_watch(std::string pci_bus_id, std::string library, std::chrono::nanoseconds every)
    : shared_(std::make_shared<shared>()) {
  try {
    thread_ = std::thread{[of = shared_, every, bus = std::move(pci_bus_id), path = std::move(library)] {
      try {
        of->serve(bus, path, every);
      } catch (std::exception const&) {  // no memory: no further samples
      }
      of->end();
    }};
  } catch (std::system_error const&) {  // no thread is left
  }
}

gpu_watch::~gpu_watch() {
  if (!thread_.joinable()) return;
  bool has_ended = false;
  {
    std::unique_lock lock{shared_->mutex};
    shared_->ending = true;
    shared_->changed.notify_all();
    has_ended = shared_->changed.wait_for(lock, max_nvml_wait, [this] { return shared_->has_ended; });
  }
  if (has_ended) {
    thread_.join();
  } else {
    thread_.detach();  // it shares ownership of what it uses
  }
}

gpu_summary gpu_watch::so_far() const {
  std::lock_guard const lock{shared_->mutex};
  return shared_->sum;
}

}  // namespace lull::detail
