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
#include <lull/host/cuda/owned.hpp>
#include <lull/host/executor.hpp>

namespace lull {

/// Device memory from a stream-ordered pool of our own, small pieces of it (gates, slots, cursors) from one arena made
/// at start, for stream memory operations refuse addresses of a pool; host memory from one pinned arena. Nothing here
/// frees or allocates with a call that waits for the trainer. Thread-safe, on any device and while any stream is being
/// captured; each call waits for its own copy, and at most for a part of another's.
class cuda_memory {
 public:
  /// `limit_bytes` 0: no limit but the device's.
  cuda_memory(int device, std::size_t limit_bytes);
  ~cuda_memory();
  cuda_memory(cuda_memory const&) = delete;
  cuda_memory& operator=(cuda_memory const&) = delete;

  void* allocate(std::size_t bytes);
  /// Not filled, for allocate_for_pool. Throws limit_error and device_error.
  void* allocate_unfilled(std::size_t bytes);
  int device() const noexcept { return device_; }
  void release(void* memory) noexcept;
  /// What the driver calls free and what our pool keeps unused, less a sixteenth, within the limit. Throws
  /// device_error.
  bytes_left free_bytes() const;
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
  static constexpr std::size_t min_given_back = std::size_t{4} << 20;  // smaller pieces go with the next that is larger

  struct pinned {
    void* memory;
    std::size_t bytes;
    bool in_use;
  };

  void* take(std::size_t bytes, bool with_zeros);
  void from_pool(void** memory, std::size_t bytes);
  void wait();  // for the stream, without a call that blocks
  void give_back() noexcept;

  int const device_;
  mutable std::mutex mutex_;       // of what is allocated
  std::mutex staging_mutex_;       // of the staging memory
  std::atomic<bool> late_{false};  // a copy was given up that may still come: staging memory is its own until then
  std::size_t const limit_bytes_;
  std::size_t used_bytes_ = 0;
  std::map<void*, std::size_t> allocated_;
  std::vector<pinned> pinned_;
  cuda_stream stream_;
  cudaMemPool_t pool_ = nullptr;
  unsigned char* arena_host_ = nullptr;  // arena, then staging
  unsigned char* arena_device_ = nullptr;
  arena mapped_{arena_bytes};
  unsigned char* small_device_ = nullptr;
  arena small_{small_arena_bytes};
};

}  // namespace lull
