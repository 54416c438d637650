// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <cuda_runtime_api.h>

#include <lull/host/cuda/arena.hpp>
#include <lull/host/cuda/device_range.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/job_memory.hpp>
#include <lull/host/memory_account.hpp>

namespace lull {

/// Device memory in our own ranges of addresses; small pieces (gates, slots, cursors) come from one arena made at
/// start, and host memory from one pinned arena. No call frees or allocates by a call that waits for the trainer.
/// Thread-safe, on any device and during any capture. `read` and `write` wait for their own copy and for parts of
/// others', because they share staging memory; no other lock is held over a call to the driver.
class cuda_memory {
 public:
  /// `limit_bytes` 0: no limit but the device's. `reserve_bytes` stay free on the device.
  cuda_memory(int device, std::size_t limit_bytes, std::size_t reserve_bytes);
  ~cuda_memory();
  cuda_memory(cuda_memory const&) = delete;
  cuda_memory& operator=(cuda_memory const&) = delete;

  void* allocate(std::size_t bytes);
  /// Allocates without zeroing, for allocate_for_pool. Throws limit_error and device_error.
  void* allocate_unfilled(std::size_t bytes);
  int device() const noexcept { return device_; }
  void release(void* memory) noexcept;
  /// Hands a range over to the caller, because it may outlive this object. Null: it is none of our ranges.
  std::unique_ptr<device_range> surrender(void* memory) noexcept;
  /// Returns what the driver calls free and is not reserved, less a sixteenth, within the limit. Throws device_error.
  bytes_left free_bytes() const;
  std::uint64_t device_free_bytes() const;
  bytes_taken taken_bytes() const;
  void keep_free(std::size_t bytes) noexcept;
  void withdraw(void* memory);
  bool restore(void* memory);
  mapped_memory map(std::size_t bytes);
  void unmap(mapped_memory memory, std::size_t bytes) noexcept;
  void write(void* to, void const* from, std::size_t bytes);
  void read(void* to, void const* from, std::size_t bytes);
  void fill_zero(void* to, std::size_t bytes);
  void* pin(std::size_t bytes);
  void unpin(void* memory) noexcept;

 private:
  static constexpr std::size_t arena_bytes = std::size_t{1} << 20;         // pinned
  static constexpr std::size_t small_arena_bytes = std::size_t{16} << 20;  // on the device
  static constexpr std::size_t max_small_bytes = std::size_t{1} << 20;
  static constexpr std::size_t staging_bytes = std::size_t{8} << 20;

  struct pinned {
    void* memory;
    std::size_t bytes;
    bool in_use;
  };

  struct allocation {
    std::size_t bytes;                    // as requested
    std::unique_ptr<device_range> range;  // null: in the small arena
    std::shared_ptr<job_memory> of_job;   // null: no job's
  };

  void* take(std::size_t bytes, bool with_zeros);
  void release_now(void* memory) noexcept;
  void drop_late() const noexcept;
  void take_from_account(std::uint64_t bytes);
  void give_to_account(std::uint64_t bytes) noexcept;
  void require_unreserved(std::size_t bytes) const;
  void wait();  // waits for the stream, without a call that blocks
  bool is_idle() const noexcept;
  std::unique_lock<std::timed_mutex> lock_staging();
  std::shared_ptr<stray_memory const> stray_for(std::size_t range_bytes);
  std::shared_ptr<stray_memory const> make_stray(bool with_large);
  device_range* range_of(void* memory) const;

  int const device_;
  mutable std::mutex mutex_;        // guards what is allocated; not held over a call to the driver
  std::timed_mutex staging_mutex_;  // guards the staging memory; held over a copy
  std::atomic<bool> late_{false};   // a copy that was given up may still run: until then it owns the staging memory
  std::atomic<std::size_t> reserve_bytes_;
  mutable memory_account account_;  // whole ranges, small pieces, and what stray addresses lead into
  std::map<void*, allocation> allocated_;
  mutable std::vector<std::unique_ptr<device_range>> late_ranges_;  // a copy may still use them; freed when possible
  std::shared_ptr<stray_memory const> stray_;                       // for addresses whose memory is away
  std::vector<pinned> pinned_;
  cuda_stream stream_;
  unsigned char* arena_host_ = nullptr;  // arena, then staging
  unsigned char* arena_device_ = nullptr;
  arena mapped_{arena_bytes};
  unsigned char* small_device_ = nullptr;
  arena small_{small_arena_bytes};
};

}  // namespace lull
