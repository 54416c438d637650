// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include <lull/host/executor.hpp>
#include <lull/tests/support/cursor_state.hpp>

namespace lull {

/// The probe task's arrays, on the device.
class device_probe {
 public:
  device_probe(executor& machine, std::vector<std::uint64_t> items)
      : machine_(machine), host_(std::move(items)), task_(host_.task()) {
    task_.extents = copied(host_.extents);
    task_.values = copied(host_.values);
    task_.runs = copied(host_.runs);
    task_.advances = copied(host_.advances);
    task_.errors = static_cast<std::uint64_t*>(machine_.allocate(sizeof(std::uint64_t)));
  }
  ~device_probe() {
    machine_.release(const_cast<std::uint64_t*>(task_.extents));
    machine_.release(task_.values);
    machine_.release(task_.runs);
    machine_.release(task_.advances);
    machine_.release(task_.errors);
  }
  device_probe(device_probe const&) = delete;
  device_probe& operator=(device_probe const&) = delete;

  probe_task task() const { return task_; }
  /// Of all items.
  std::uint64_t ran() {
    machine_.read(host_.runs.data(), task_.runs, host_.runs.size() * sizeof(std::uint32_t));
    std::uint64_t all = 0;
    for (std::uint32_t const runs : host_.runs) all += runs;
    return all;
  }
  char const* wrong() {
    machine_.read(host_.values.data(), task_.values, host_.values.size() * sizeof(std::uint64_t));
    machine_.read(host_.runs.data(), task_.runs, host_.runs.size() * sizeof(std::uint32_t));
    machine_.read(host_.advances.data(), task_.advances, host_.advances.size() * sizeof(std::uint64_t));
    machine_.read(&host_.errors, task_.errors, sizeof host_.errors);
    return host_.wrong();
  }

 private:
  template <class T>
  T* copied(std::vector<T> const& values) {
    T* const memory = static_cast<T*>(machine_.allocate(values.size() * sizeof(T)));
    machine_.write(memory, values.data(), values.size() * sizeof(T));
    return memory;
  }
  executor& machine_;
  probe_arrays host_;
  probe_task task_;
};

}  // namespace lull
