// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <cuda_runtime_api.h>

#include <lull/host/cuda/owned.hpp>
#include <lull/host/executor.hpp>

namespace lull {

/// Device memory from a stream-ordered pool of our own, and host memory from one pinned arena made at start: nothing here
/// frees or allocates with a call that waits for the trainer. Thread-safe; each call waits for its own copy alone.
class cuda_memory {
 public:
  /// `limit_bytes` 0: no limit but the device's.
  cuda_memory(int device, std::size_t limit_bytes);
  ~cuda_memory();
  cuda_memory(cuda_memory const&) = delete;
  cuda_memory& operator=(cuda_memory const&) = delete;

  void* allocate(std::size_t bytes);
  void release(void* memory) noexcept;
  mapped_memory map(std::size_t bytes);
  void unmap(mapped_memory memory, std::size_t bytes) noexcept;
  void write(void* to, void const* from, std::size_t bytes);
  void read(void* to, void const* from, std::size_t bytes);
  void fill_zero(void* to, std::size_t bytes);

 private:
  static constexpr std::size_t unit_bytes = 128;
  static constexpr std::size_t arena_bytes = std::size_t{1} << 20;
  static constexpr std::size_t staging_bytes = std::size_t{8} << 20;

  void wait();  // for the stream, without a call that blocks

  std::mutex mutex_;
  std::size_t const limit_bytes_;
  std::size_t used_bytes_ = 0;
  std::map<void*, std::size_t> allocated_;
  cuda_stream stream_;
  cudaMemPool_t pool_ = nullptr;
  unsigned char* arena_host_ = nullptr;  // arena, then staging
  unsigned char* arena_device_ = nullptr;
  std::vector<bool> taken_;  // units of the arena
};

}  // namespace lull
