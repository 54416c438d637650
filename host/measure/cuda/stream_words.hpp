// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <new>

#include <lull/host/cuda/driver.hpp>
#include <lull/host/cuda/owned.hpp>

namespace lull {

/// A word of the host's, 0 at first, that the device reads and writes.
class mapped_word {
 public:
  mapped_word() {
    void* word = nullptr;
    LULL_CUDA(cudaHostAlloc(&word, sizeof *host_, cudaHostAllocMapped));
    host_.reset(new (word) std::uint32_t{0});
    LULL_CUDA(cudaHostGetDevicePointer(&word, host_.get(), 0));
    device_ = static_cast<std::uint32_t*>(word);
  }

  std::uint32_t& host() const noexcept { return *host_; }
  std::uint32_t* device() const noexcept { return device_; }

 private:
  std::unique_ptr<std::uint32_t, cudaError_t (*)(void*)> host_{nullptr, cudaFreeHost};
  std::uint32_t* device_ = nullptr;
};

/// The stream itself writes `word`: no kernel, no SM. Only enqueues.
inline void write_word(CUstream stream, std::uint32_t* word, std::uint32_t value) {
  CUstreamBatchMemOpParams write{};
  write.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  write.writeValue.address = reinterpret_cast<CUdeviceptr>(word);
  write.writeValue.value = value;
  LULL_DRIVER(driver().memory_operations(stream, 1, &write, 0));
}

}  // namespace lull
