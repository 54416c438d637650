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
  device_probe(executor& executor, std::vector<std::uint64_t> items)
      : executor_(executor), host_(std::move(items)), task_(host_.task()) {
    task_.extents = copied(host_.extents);
    task_.values = copied(host_.values);
    task_.runs = copied(host_.runs);
    task_.advances = copied(host_.advances);
    task_.errors = static_cast<std::uint64_t*>(executor_.allocate(sizeof(std::uint64_t)));
  }
  ~device_probe() {
    executor_.release(const_cast<std::uint64_t*>(task_.extents));
    executor_.release(task_.values);
    executor_.release(task_.runs);
    executor_.release(task_.advances);
    executor_.release(task_.errors);
  }
  device_probe(device_probe const&) = delete;
  device_probe& operator=(device_probe const&) = delete;

  probe_task task() const { return task_; }
  /// Of all items.
  std::uint64_t ran() {
    executor_.read(host_.runs.data(), task_.runs, host_.runs.size() * sizeof(std::uint32_t));
    std::uint64_t all = 0;
    for (std::uint32_t const runs : host_.runs) all += runs;
    return all;
  }
  char const* wrong() {
    executor_.read(host_.values.data(), task_.values, host_.values.size() * sizeof(std::uint64_t));
    executor_.read(host_.runs.data(), task_.runs, host_.runs.size() * sizeof(std::uint32_t));
    executor_.read(host_.advances.data(), task_.advances, host_.advances.size() * sizeof(std::uint64_t));
    executor_.read(&host_.errors, task_.errors, sizeof host_.errors);
    return host_.wrong();
  }

 private:
  template <class T>
  T* copied(std::vector<T> const& values) {
    T* const memory = static_cast<T*>(executor_.allocate(values.size() * sizeof(T)));
    executor_.write(memory, values.data(), values.size() * sizeof(T));
    return memory;
  }
  executor& executor_;
  probe_arrays host_;
  probe_task task_;
};

}  // namespace lull
