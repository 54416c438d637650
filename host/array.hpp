// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <lull/host/executor.hpp>

namespace lull {

/// An array on a machine, owned. Movable; must go before the machine does.
template <class T>
class machine_array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  machine_array() = default;
  /// Zeroed. Throws limit_error.
  machine_array(executor& machine, std::size_t count)
      : machine_(&machine), data_(static_cast<T*>(machine.allocate(count * sizeof(T)))), count_(count) {}
  machine_array(executor& machine, std::span<T const> values) : machine_array(machine, values.size()) { write(values); }
  machine_array(machine_array&& other) noexcept
      : machine_(std::exchange(other.machine_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        count_(std::exchange(other.count_, 0)) {}
  machine_array& operator=(machine_array&& other) noexcept {
    std::swap(machine_, other.machine_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~machine_array() {
    if (machine_ != nullptr) machine_->release(data_);
  }

  T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return count_; }
  std::size_t bytes() const noexcept { return count_ * sizeof(T); }
  /// Return when the copy is done.
  void write(std::span<T const> values) { machine_->write(data_, values.data(), values.size_bytes()); }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    machine_->read(values.data(), data_, bytes());
    return values;
  }
  void fill_zero() { machine_->fill_zero(data_, bytes()); }

 private:
  executor* machine_ = nullptr;
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace lull
