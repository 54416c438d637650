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

cuda_memory::cuda_memory(int device, std::size_t limit_bytes, std::size_t reserve_bytes)
    : device_(device), limit_bytes_(limit_bytes), reserve_bytes_(reserve_bytes) {
  stream_ = cuda_stream{priorities().lowest};
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
    allocated_.clear();
    late_ranges_.clear();
    stray_.reset();
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

/// Whether Lull's stream is idle; waits some milliseconds for that.
bool cuda_memory::is_idle() noexcept try {
  constexpr int max_looks = 100;
  for (int looks = 0; !is_done(cudaStreamQuery(stream_.get())); ++looks) {
    if (looks == max_looks) return false;
    std::this_thread::sleep_for(std::chrono::microseconds{20});
  }
  return true;
} catch (device_error const&) {  // the device is gone, and what was under way with it
  return true;
}

void* cuda_memory::allocate(std::size_t bytes) { return take(bytes, true); }

void* cuda_memory::allocate_unfilled(std::size_t bytes) { return take(bytes, false); }

/// The caller holds the mutex.
void cuda_memory::require_allowed(std::size_t bytes) const {
  if (limit_bytes_ != 0 && bytes > limit_bytes_ - std::min(limit_bytes_, taken_.now)) {
    throw limit_error{"memory limit of " + std::to_string(limit_bytes_) +
                      " bytes reached: " + std::to_string(taken_.now) + " are in use, and a task needs " +
                      std::to_string(bytes) + " more; raise memory_limit"};
  }
}

void cuda_memory::require_unreserved(std::size_t bytes) const {
  if (reserve_bytes_ == 0) return;
  std::uint64_t const free = device_free_bytes();
  if (free < bytes || free - bytes < reserve_bytes_) {
    throw limit_error{"the device has " + std::to_string(free) + " bytes free, of which reserve_bytes keeps " +
                      std::to_string(reserve_bytes_) + " for the trainer, and a task needs " + std::to_string(bytes) +
                      " more; choose a smaller input for it"};
  }
}

/// Without zeros it is a range, also where it is small: it may outlive the small arena.
void* cuda_memory::take(std::size_t bytes, bool with_zeros) {
  cuda_device_guard const here{device_};
  std::shared_ptr<job_memory> const of_job = job_memory::of_this_thread();
  std::unique_lock lock{mutex_};
  require_allowed(bytes);
  std::optional<std::size_t> const small = with_zeros && bytes <= max_small_bytes ? small_.take(bytes) : std::nullopt;
  allocation made{bytes, nullptr, of_job};
  void* memory = nullptr;
  if (small) {
    memory = small_device_ + *small;
  } else {
    require_unreserved(bytes);
    made.range = std::make_unique<device_range>(device_, bytes);
    if (of_job != nullptr) make_stray(made.range->bytes());
    memory = made.range->data();
  }
  taken_.add(bytes);
  allocated_.emplace(memory, std::move(made));
  try {
    if (with_zeros) LULL_CUDA(cudaMemsetAsync(memory, 0, bytes, stream_.get()));
    if (with_zeros) wait();  // other streams use it next
    lock.unlock();
    if (of_job != nullptr) of_job->add(memory, {bytes, !small});
  } catch (...) {  // the zeroing may still come: `release` sees to that
    if (lock.owns_lock()) lock.unlock();
    release(memory);
    throw;
  }
  return memory;
}

void cuda_memory::release(void* memory) noexcept {
  if (memory == nullptr) return;
  std::unique_lock lock{mutex_};
  auto const known = allocated_.find(memory);
  if (known == allocated_.end()) return;
  if (std::shared_ptr<job_memory> const of_job = known->second.of_job; of_job != nullptr) {
    lock.unlock();  // it may wait
    of_job->remove(memory);
    lock.lock();
  }
  auto const ended = allocated_.extract(memory);
  if (ended.empty()) return;
  allocation const& was = ended.mapped();
  if (was.range == nullptr) {
    taken_.remove(was.bytes);
    auto* const at = static_cast<unsigned char*>(memory);
    small_.give_back(static_cast<std::size_t>(at - small_device_), was.bytes);
    return;
  }
  if (!was.range->is_away()) taken_.remove(was.bytes);
  late_ranges_.push_back(std::move(ended.mapped().range));
  destroy_on(device_, [this] {
    if (is_idle()) late_ranges_.clear();  // else with the next
  });
}

std::unique_ptr<device_range> cuda_memory::surrender(void* memory) noexcept {
  std::lock_guard const lock{mutex_};
  auto const ended = allocated_.extract(memory);
  return ended.empty() ? nullptr : std::move(ended.mapped().range);
}

std::uint64_t cuda_memory::device_free_bytes() const {
  cuda_device_guard const here{device_};
  std::size_t free = 0;
  std::size_t all = 0;
  LULL_CUDA(cudaMemGetInfo(&free, &all));
  return free;
}

bytes_taken cuda_memory::taken_bytes() const {
  std::lock_guard const lock{mutex_};
  return taken_;
}

bytes_left cuda_memory::free_bytes() const {
  std::uint64_t free = device_free_bytes();
  free -= std::min<std::uint64_t>(free, reserve_bytes_);
  free -= free / 16;
  std::lock_guard const lock{mutex_};
  std::size_t const allowed = limit_bytes_ - std::min(limit_bytes_, taken_.now);
  if (limit_bytes_ != 0 && allowed < free) return {allowed, true};
  return {free};
}

/// Beforehand: when memory has to go there may be none to make it of. The caller holds the mutex.
void cuda_memory::make_stray(std::size_t range_bytes) {
  bool const is_large = range_bytes >= device_range::large_bytes;
  if (stray_ != nullptr && (!is_large || stray_->large() != nullptr)) return;
  try {
    stray_ = std::make_shared<stray_memory>(device_, is_large);
  } catch (limit_error const&) {  // the small piece takes longer
    if (stray_ == nullptr) stray_ = std::make_shared<stray_memory>(device_, false);
  }
}

void cuda_memory::withdraw(void* memory) {
  cuda_device_guard const here{device_};
  std::lock_guard const lock{mutex_};
  auto const known = allocated_.find(memory);
  if (known == allocated_.end() || known->second.range == nullptr || known->second.range->is_away()) return;
  make_stray(0);
  known->second.range->withdraw(stray_);
  taken_.remove(known->second.bytes);
}

bool cuda_memory::restore(void* memory) {
  cuda_device_guard const here{device_};
  std::lock_guard const lock{mutex_};
  auto const known = allocated_.find(memory);
  if (known == allocated_.end() || known->second.range == nullptr || !known->second.range->is_away()) return false;
  require_allowed(known->second.bytes);
  require_unreserved(known->second.bytes);
  known->second.range->restore();
  taken_.add(known->second.bytes);
  return true;
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
