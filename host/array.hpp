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

/// Owns an array in device memory. Move assignment swaps two arrays. Destroy it before the executor, and after the last
/// block that uses it. Copies block until they are done. Copies are not ordered with other work: a copy may hold old or
/// new values of what blocks write meanwhile. An empty array, made by default or moved from, has no memory: it may
/// only be asked for its size, moved, assigned and destroyed. Not thread-safe.
template <class T>
class device_array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  device_array() = default;
  /// Allocates zeroed memory. Throws limit_error.
  device_array(device_memory& memory, std::size_t count)
      : memory_(&memory), data_(static_cast<T*>(memory.allocate(count * sizeof(T)))), count_(count) {}
  device_array(device_memory& memory, std::span<T const> values) : device_array(memory, values.size()) {
    write(values);
  }
  device_array(device_array&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        count_(std::exchange(other.count_, 0)) {}
  device_array& operator=(device_array&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~device_array() {
    if (memory_ != nullptr) memory_->release(data_);
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
    memory_->write(data_ + first, values.data(), values.size_bytes());
  }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    memory_->read(values.data(), data_, bytes());
    return values;
  }
  void fill_zero() { memory_->fill_zero(data_, bytes()); }

 private:
  device_memory* memory_ = nullptr;
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

/// Owns words that host and machine both address. Destroy it before the executor, and after the last block that uses
/// it.
template <class T>
class mapped_array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Allocates zeroed memory. Throws limit_error.
  mapped_array(device_memory& memory, std::size_t count)
      : memory_(memory), count_(count), words_(memory.map(bytes())) {}
  mapped_array(mapped_array const&) = delete;
  mapped_array& operator=(mapped_array const&) = delete;
  ~mapped_array() { memory_.unmap(words_, bytes()); }

  T* host() const noexcept { return static_cast<T*>(words_.host); }
  T* device() const noexcept { return static_cast<T*>(words_.device); }
  std::size_t bytes() const noexcept { return count_ * sizeof(T); }

 private:
  device_memory& memory_;
  std::size_t const count_;
  mapped_memory const words_;
};

}  // namespace lull
