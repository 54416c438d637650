// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include <cuda.h>

namespace lull {

/// An owned piece of one device's memory that is not mapped anywhere.
class device_piece {
 public:
  /// `bytes`: a multiple of `granularity`. Throws limit_error if the device has no more, device_error.
  device_piece(int device, std::size_t bytes);
  ~device_piece();
  device_piece(device_piece const&) = delete;
  device_piece& operator=(device_piece const&) = delete;
  CUmemGenericAllocationHandle get() const noexcept { return handle_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  CUmemGenericAllocationHandle handle_ = 0;
  std::size_t const bytes_;
};

/// Memory to which the addresses of all ranges lead whose memory is away. Mapping a piece takes some 25 µs whatever its
/// size: with the small piece alone, 20 GB would take a quarter of a second.
class stray_memory {
 public:
  static constexpr std::size_t small_bytes = std::size_t{2} << 20;
  static constexpr std::size_t large_bytes = std::size_t{256} << 20;

  /// `with_large`: adds a large piece for large ranges. Throws limit_error, device_error.
  stray_memory(int device, bool with_large);
  device_piece const& small() const noexcept { return small_; }
  device_piece const* large() const noexcept { return large_.get(); }  // null: none
  static constexpr std::size_t bytes_for(bool with_large) { return small_bytes + (with_large ? large_bytes : 0); }
  std::size_t bytes() const noexcept { return bytes_for(large_ != nullptr); }

 private:
  device_piece const small_;
  std::unique_ptr<device_piece const> large_;
};

/// Owned addresses of one device, and their memory. The memory can go back to the driver while the addresses
/// stay. No call waits for a kernel, so nothing that was enqueued may use the memory when it goes
/// (docs/decisions/memory-goes-back.md). Not thread-safe.
class device_range {
 public:
  /// Rounds up. The memory's content is unspecified. Throws limit_error, device_error.
  device_range(int device, std::size_t bytes);
  ~device_range();
  device_range(device_range const&) = delete;
  device_range& operator=(device_range const&) = delete;

  void* data() const noexcept { return reinterpret_cast<void*>(at_); }
  std::size_t bytes() const noexcept { return bytes_; }
  bool is_away() const noexcept { return memory_ == nullptr; }
  /// Gives the memory back to the driver. The addresses then lead to `instead`, where a stray access does no harm.
  /// Throws device_error, and then they lead nowhere.
  void withdraw(std::shared_ptr<stray_memory const> instead);
  /// Gives the addresses memory again, with unspecified content. Throws limit_error, and then nothing has
  /// changed; or device_error, and then they lead nowhere.
  void restore();

  static constexpr std::size_t granularity = std::size_t{2} << 20;
  /// Returns what a range of so many bytes takes.
  static constexpr std::size_t rounded(std::size_t bytes) noexcept {
    return std::max<std::size_t>(1, bytes / granularity + (bytes % granularity != 0 ? 1 : 0)) * granularity;
  }
  static constexpr std::size_t large_bytes = std::size_t{4} << 30;  // above this the large stray piece is worth it

 private:
  /// `at`(offset) returns the piece to map there; together the pieces are as long as the range.
  template <class At>
  void map(At at);
  void unmap() noexcept;

  int const device_;
  std::size_t const bytes_;
  CUdeviceptr at_ = 0;
  std::unique_ptr<device_piece> memory_;         // null: away
  std::shared_ptr<stray_memory const> instead_;  // while the memory is away
};

}  // namespace lull
