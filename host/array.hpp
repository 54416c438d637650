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

/// Owns an array on a machine. Move assignment swaps two arrays. Destroy it before the machine, and after the last
/// block that uses it. Copies block until they are done. Copies are not ordered with other work: a copy may hold old or
/// new values of what blocks write meanwhile. An empty array, made by default or moved from, has no machine: it may
/// only be asked for its size, moved, assigned and destroyed. Not thread-safe.
template <class T>
class machine_array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  machine_array() = default;
  /// Allocates zeroed memory. Throws limit_error.
  machine_array(machine_memory& machine, std::size_t count)
      : machine_(&machine), data_(static_cast<T*>(machine.allocate(count * sizeof(T)))), count_(count) {}
  machine_array(machine_memory& machine, std::span<T const> values) : machine_array(machine, values.size()) {
    write(values);
  }
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
  /// Writes elements from `first` on. Throws usage_error for more values than the array holds from there.
  void write(std::span<T const> values, std::size_t first = 0) {
    if (first > count_ || values.size() > count_ - first) {
      throw usage_error{"an array of " + std::to_string(count_) + " was to be written " +
                        std::to_string(values.size()) + " values from " + std::to_string(first) + " on"};
    }
    machine_->write(data_ + first, values.data(), values.size_bytes());
  }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    machine_->read(values.data(), data_, bytes());
    return values;
  }
  void fill_zero() { machine_->fill_zero(data_, bytes()); }

 private:
  machine_memory* machine_ = nullptr;
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

/// Owns words that host and machine both address. Destroy it before the machine, and after the last block that uses it.
template <class T>
class mapped_array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Allocates zeroed memory. Throws limit_error.
  mapped_array(machine_memory& machine, std::size_t count)
      : machine_(machine), count_(count), memory_(machine.map(bytes())) {}
  mapped_array(mapped_array const&) = delete;
  mapped_array& operator=(mapped_array const&) = delete;
  ~mapped_array() { machine_.unmap(memory_, bytes()); }

  T* host() const noexcept { return static_cast<T*>(memory_.host); }
  T* device() const noexcept { return static_cast<T*>(memory_.device); }
  std::size_t bytes() const noexcept { return count_ * sizeof(T); }

 private:
  machine_memory& machine_;
  std::size_t const count_;
  mapped_memory const memory_;
};

}  // namespace lull
