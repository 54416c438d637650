// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include <lull/host/executor.hpp>

namespace lull {

/// One piece of pinned host memory, given out in parts: it bounds the memory for what travels between files and the
/// machine. Thread-safe.
class pinned_pool {
 public:
  static constexpr std::size_t line = 256;  // parts are multiples of it
  /// Returns how much of the pool a part of so many bytes takes.
  static constexpr std::size_t taken_by(std::size_t bytes) noexcept {
    return bytes == 0 ? line : (bytes + line - 1) / line * line;
  }

  /// Throws limit_error.
  pinned_pool(executor& executor, std::size_t bytes);
  /// All parts must be back.
  ~pinned_pool();
  pinned_pool(pinned_pool const&) = delete;
  pinned_pool& operator=(pinned_pool const&) = delete;

  /// An owned part; its destructor gives it back.
  class part {
   public:
    part() = default;
    part(part&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), bytes_(std::exchange(other.bytes_, {})) {}
    part& operator=(part&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~part() {
      if (pool_ != nullptr) pool_->give_back(bytes_);
    }
    std::span<unsigned char> bytes() const noexcept { return bytes_; }

   private:
    friend class pinned_pool;
    part(pinned_pool* pool, std::span<unsigned char> bytes) : pool_(pool), bytes_(bytes) {}
    pinned_pool* pool_ = nullptr;
    std::span<unsigned char> bytes_;
  };

  /// Returns nothing if no part of that size is free.
  std::optional<part> take(std::size_t bytes);

  std::size_t bytes() const noexcept { return bytes_; }

 private:
  void give_back(std::span<unsigned char> part) noexcept;

  executor& executor_;
  std::size_t const bytes_;
  unsigned char* const memory_;
  std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_;  // first byte → bytes; no two touch
};

}  // namespace lull
