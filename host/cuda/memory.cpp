// SPDX-License-Identifier: Apache-2.0
#include <lull/host/cuda/memory.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <thread>

#include <lull/host/cuda/device_guard.hpp>
#include <lull/host/cuda/pool_memory.hpp>

namespace lull {

namespace {

constexpr std::chrono::minutes max_wait{1};

}  // namespace

cuda_memory::cuda_memory(int device, std::size_t limit_bytes) : device_(device), limit_bytes_(limit_bytes) {
  stream_ = cuda_stream{priorities().lowest};
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, device};
  LULL_CUDA(cudaMemPoolCreate(&pool_, &properties));
  std::uint64_t keep = ~std::uint64_t{
      0};  // what was freed goes back when we say so: otherwise it would at a synchronisation of the trainer's
  LULL_CUDA(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep));
  void* small = nullptr;
  LULL_CUDA(cudaMalloc(&small, small_arena_bytes));
  small_device_ = static_cast<unsigned char*>(small);
  void* host = nullptr;
  LULL_CUDA(cudaHostAlloc(&host, arena_bytes + staging_bytes, cudaHostAllocMapped | cudaHostAllocPortable));
  arena_host_ = static_cast<unsigned char*>(host);
  std::memset(arena_host_, 0, arena_bytes);
  void* device_side = nullptr;
  LULL_CUDA(cudaHostGetDevicePointer(&device_side, host, 0));
  arena_device_ = static_cast<unsigned char*>(device_side);
}

cuda_memory::~cuda_memory() {
  detail::end_lending(*this);
  // The end of the runtime may wait; errors have nobody to go to.
  destroy_on(device_, [this] {
    cudaStreamSynchronize(stream_.get());
    if (pool_ != nullptr) cudaMemPoolDestroy(pool_);
    if (arena_host_ != nullptr) cudaFreeHost(arena_host_);
    if (small_device_ != nullptr) cudaFree(small_device_);
    for (pinned const& each : pinned_) cudaFreeHost(each.memory);
    stream_ = {};
    cudaGetLastError();
  });
}

void cuda_memory::wait() {
  auto const give_up = std::chrono::steady_clock::now() + max_wait;
  for (int looks = 0;; ++looks) {
    if (is_done(cudaStreamQuery(stream_.get()))) {
      late_ = false;
      return;
    }
    if (std::chrono::steady_clock::now() >= give_up) {
      late_ = true;
      throw limit_error{
          "the device did not reach a copy of Lull's within a minute: an operation that was enqueued before it does "
          "not end"};
    }
    if (looks > 100) std::this_thread::sleep_for(std::chrono::microseconds{20});
  }
}

void* cuda_memory::allocate(std::size_t bytes) { return take(bytes, true); }

void* cuda_memory::allocate_unfilled(std::size_t bytes) { return take(bytes, false); }

/// Without zeros it is of the pool, also where it is small: it may outlive the small arena.
void* cuda_memory::take(std::size_t bytes, bool with_zeros) {
  cuda_device_guard const here{device_};
  std::unique_lock lock{mutex_};
  if (limit_bytes_ != 0 && bytes > limit_bytes_ - std::min(limit_bytes_, used_bytes_)) {
    throw limit_error{"memory limit of " + std::to_string(limit_bytes_) +
                      " bytes reached: " + std::to_string(used_bytes_) + " are in use, and a task needs " +
                      std::to_string(bytes) + " more; raise memory_limit"};
  }
  void* memory = nullptr;
  std::optional<std::size_t> const small = with_zeros && bytes <= max_small_bytes ? small_.take(bytes) : std::nullopt;
  if (small) {
    memory = small_device_ + *small;
  } else {
    from_pool(&memory, bytes);
  }
  allocated_[memory] = bytes;
  used_bytes_ += bytes;
  try {
    if (with_zeros) LULL_CUDA(cudaMemsetAsync(memory, 0, bytes, stream_.get()));
    wait();        // other streams use it next: also for what this one still does to memory that was freed
  } catch (...) {  // the zeroing may still come: the next owner's stands behind it on the same stream
    lock.unlock();
    release(memory);
    throw;
  }
  return memory;
}

void cuda_memory::from_pool(void** memory, std::size_t bytes) {
  cudaError_t const code = cudaMallocFromPoolAsync(memory, std::max<std::size_t>(bytes, 1), pool_, stream_.get());
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw limit_error{"out of device memory: " + std::to_string(bytes) +
                      " bytes more are not free; choose a smaller input for the side task"};
  }
  LULL_CUDA(code);
}

void cuda_memory::release(void* memory) noexcept {
  if (memory == nullptr) return;
  std::unique_lock lock{mutex_};
  auto const found = allocated_.find(memory);
  if (found == allocated_.end()) return;
  std::size_t const bytes = found->second;
  used_bytes_ -= bytes;
  allocated_.erase(found);
  auto* const at = static_cast<unsigned char*>(memory);
  if (at >= small_device_ && at < small_device_ + small_arena_bytes) {
    small_.give_back(static_cast<std::size_t>(at - small_device_), bytes);
    return;
  }
  destroy_on(device_, [&] { cudaFreeAsync(memory, stream_.get()); });
  lock.unlock();
  if (bytes >= min_given_back) give_back();
}

bytes_left cuda_memory::free_bytes() const {
  cuda_device_guard const here{device_};
  std::size_t free = 0;
  std::size_t all = 0;
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
  LULL_CUDA(cudaMemGetInfo(&free, &all));
  // The driver does not call free what the pool keeps, but `allocate` gives it.
  LULL_CUDA(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved));
  LULL_CUDA(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used));
  free += reserved - std::min(reserved, used);
  free -= free / 16;
  std::lock_guard const lock{mutex_};
  std::size_t const allowed = limit_bytes_ - std::min(limit_bytes_, used_bytes_);
  if (limit_bytes_ != 0 && allowed < free) return {allowed, true};
  return {free};
}

/// What was freed is the trainer's again: this waits for no kernel and keeps up no launch
/// (docs/decisions/memory-goes-back.md). It goes when the stream has come to the free. Should that stand behind
/// something of the trainer's, then with the next that is freed.
void cuda_memory::give_back() noexcept {
  try {
    cuda_device_guard const here{device_};
    constexpr int max_looks = 100;
    for (int looks = 0; !is_done(cudaStreamQuery(stream_.get())); ++looks) {
      if (looks == max_looks) return;
      std::this_thread::sleep_for(std::chrono::microseconds{20});
    }
    cudaStreamSynchronize(stream_.get());  // it is done: only behind this does the pool take what was freed for free
    if (cudaMemPoolTrimTo(pool_, 0) != cudaSuccess) cudaGetLastError();
  } catch (device_error const&) {  // the device is gone, and its memory with it
  }
}

mapped_memory cuda_memory::map(std::size_t bytes) {
  std::lock_guard const lock{mutex_};
  std::optional<std::size_t> const offset = mapped_.take(bytes);
  if (!offset) throw limit_error{"the pinned arena of 1 MiB is used up: run fewer jobs at once"};
  std::memset(arena_host_ + *offset, 0, bytes);
  return {arena_host_ + *offset, arena_device_ + *offset};
}

void cuda_memory::unmap(mapped_memory memory, std::size_t bytes) noexcept {
  if (memory.host == nullptr) return;
  std::lock_guard const lock{mutex_};
  mapped_.give_back(static_cast<std::size_t>(static_cast<unsigned char*>(memory.host) - arena_host_), bytes);
}

void* cuda_memory::pin(std::size_t bytes) {
  cuda_device_guard const here{device_};
  std::lock_guard const lock{mutex_};
  pinned* best = nullptr;
  for (pinned& each : pinned_) {
    if (!each.in_use && each.bytes >= bytes && (best == nullptr || each.bytes < best->bytes)) best = &each;
  }
  if (best == nullptr) {
    void* memory = nullptr;
    cudaError_t const code = cudaHostAlloc(&memory, std::max<std::size_t>(bytes, 1), cudaHostAllocPortable);
    if (code == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw limit_error{"this computer cannot pin " + std::to_string(bytes) +
                        " bytes of memory: choose a smaller buffer"};
    }
    LULL_CUDA(code);
    best = &pinned_.emplace_back(pinned{memory, bytes, false});
  }
  best->in_use = true;
  return best->memory;
}

void cuda_memory::unpin(void* memory) noexcept {
  std::lock_guard const lock{mutex_};
  for (pinned& each : pinned_) {
    if (each.memory == memory) each.in_use = false;
  }
}

void cuda_memory::write(void* to, void const* from, std::size_t bytes) {
  cuda_device_guard const here{device_};
  unsigned char* const staging = arena_host_ + arena_bytes;
  for (std::size_t at = 0; at < bytes; at += staging_bytes) {
    std::size_t const part = std::min(staging_bytes, bytes - at);
    std::lock_guard const lock{staging_mutex_};  // others' small copies go between two parts
    if (late_) wait();
    std::memcpy(staging, static_cast<unsigned char const*>(from) + at, part);
    LULL_CUDA(
        cudaMemcpyAsync(static_cast<unsigned char*>(to) + at, staging, part, cudaMemcpyHostToDevice, stream_.get()));
    wait();
  }
}

void cuda_memory::read(void* to, void const* from, std::size_t bytes) {
  cuda_device_guard const here{device_};
  unsigned char* const staging = arena_host_ + arena_bytes;
  for (std::size_t at = 0; at < bytes; at += staging_bytes) {
    std::size_t const part = std::min(staging_bytes, bytes - at);
    std::lock_guard const lock{staging_mutex_};
    if (late_) wait();
    LULL_CUDA(cudaMemcpyAsync(staging, static_cast<unsigned char const*>(from) + at, part, cudaMemcpyDeviceToHost,
                              stream_.get()));
    wait();
    std::memcpy(static_cast<unsigned char*>(to) + at, staging, part);
  }
}

void cuda_memory::fill_zero(void* to, std::size_t bytes) {
  cuda_device_guard const here{device_};
  LULL_CUDA(cudaMemsetAsync(to, 0, bytes, stream_.get()));
  wait();
}

}  // namespace lull
