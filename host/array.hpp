// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>

namespace lull {

/// An array on a machine, owned. Movable: two arrays change places. It must go before the machine does, and behind
/// every block that uses it. Copies block until they are done, and are ordered with nothing else: what blocks write
/// meanwhile may be old or new. Not thread-safe.
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
  /// To its beginning. Throws usage_error for more values than it holds.
  void write(std::span<T const> values) {
    if (values.size() > count_) {
      throw usage_error{"an array of " + std::to_string(count_) + " was to be written " +
                        std::to_string(values.size()) + " values"};
    }
    machine_->write(data_, values.data(), values.size_bytes());
  }
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

/// Words that host and machine both address, owned. It must go before the machine does, and after every block that uses
/// it.
template <class T>
class mapped_array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Zeroed. Throws limit_error.
  mapped_array(executor& machine, std::size_t count)
      : machine_(machine), count_(count), memory_(machine.map(bytes())) {}
  mapped_array(mapped_array const&) = delete;
  mapped_array& operator=(mapped_array const&) = delete;
  ~mapped_array() { machine_.unmap(memory_, bytes()); }

  T* host() const noexcept { return static_cast<T*>(memory_.host); }
  T* device() const noexcept { return static_cast<T*>(memory_.device); }
  std::size_t bytes() const noexcept { return count_ * sizeof(T); }

 private:
  executor& machine_;
  std::size_t const count_;
  mapped_memory const memory_;
};

}  // namespace lull
