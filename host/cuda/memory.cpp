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

[[noreturn]] void throw_late() {
  throw limit_error{
      "the device did not reach a copy of Lull's within " + std::to_string(patient_copies::limit().count()) +
      " s: an operation that was enqueued before it does not end. With CUDA_DEVICE_MAX_CONNECTIONS=1 that may be what "
      "the trainer waits for: try again when the trainer continues"};
}

}  // namespace

cuda_memory::cuda_memory(int device, std::size_t limit_bytes, std::size_t reserve_bytes)
    : device_(device), reserve_bytes_(reserve_bytes), account_(limit_bytes) {
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
  // The end of the runtime may wait; errors cannot be reported here.
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
  auto const give_up = std::chrono::steady_clock::now() + patient_copies::limit();
  for (int looks = 0;; ++looks) {
    if (is_done(cudaStreamQuery(stream_.get()))) {
      late_ = false;
      return;
    }
    if (std::chrono::steady_clock::now() >= give_up) {
      late_ = true;
      throw_late();
    }
    if (looks > 100) std::this_thread::sleep_for(std::chrono::microseconds{20});
  }
}

/// Returns whether Lull's stream is idle; waits some milliseconds for that.
bool cuda_memory::is_idle() const noexcept try {
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

void cuda_memory::take_from_account(std::uint64_t bytes) {
  std::lock_guard const lock{mutex_};
  account_.take(bytes);
}

void cuda_memory::give_to_account(std::uint64_t bytes) noexcept {
  std::lock_guard const lock{mutex_};
  account_.give_back(bytes);
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

/// Without zeros it takes a range even for a small size: the memory may outlive the small arena.
void* cuda_memory::take(std::size_t bytes, bool with_zeros) {
  cuda_device_guard const here{device_};
  drop_late();
  allocation made{bytes, nullptr, job_memory::of_this_thread()};
  std::shared_ptr<job_memory> const of_job = made.of_job;
  void* memory = nullptr;
  std::uint64_t taken = bytes;
  {
    std::lock_guard const lock{mutex_};
    auto const small = with_zeros && bytes <= max_small_bytes ? small_.take(bytes) : std::nullopt;
    if (!small) taken = device_range::rounded(bytes);
    try {
      account_.take(taken);  // counted before allocating, so that two threads cannot both find room for one
    } catch (...) {
      if (small) small_.give_back(*small, bytes);
      throw;
    }
    if (small) memory = small_device_ + *small;
  }
  bool const is_range = memory == nullptr;
  try {
    if (is_range) {
      require_unreserved(taken);
      made.range = std::make_unique<device_range>(device_, bytes);
      // made now: when memory must move out, none may be left for it
      if (of_job != nullptr) stray_for(made.range->bytes());
      memory = made.range->data();
    }
    std::lock_guard const lock{mutex_};
    allocated_.emplace(memory, std::move(made));
  } catch (...) {
    give_to_account(taken);
    throw;
  }
  try {
    if (with_zeros) LULL_CUDA(cudaMemsetAsync(memory, 0, bytes, stream_.get()));
    if (with_zeros) wait();  // other streams use it next
    if (of_job != nullptr) of_job->add(memory, {bytes, taken, is_range});
  } catch (...) {  // the zeroing may still run: `release` handles that
    release_now(memory);
    throw;
  }
  return memory;
}

void cuda_memory::release(void* memory) noexcept {
  if (memory == nullptr) return;
  std::shared_ptr<job_memory> of_job;
  {
    std::lock_guard const lock{mutex_};
    auto const known = allocated_.find(memory);
    if (known == allocated_.end()) return;
    of_job = known->second.of_job;
  }
  if (of_job == nullptr) return release_now(memory);
  of_job->remove(memory, [this, memory] { release_now(memory); });
}

void cuda_memory::release_now(void* memory) noexcept {
  {
    std::lock_guard const lock{mutex_};
    auto const ended = allocated_.extract(memory);
    if (ended.empty()) return;
    allocation& was = ended.mapped();
    if (was.range == nullptr) {
      account_.give_back(was.bytes);
      auto* const at = static_cast<unsigned char*>(memory);
      return small_.give_back(static_cast<std::size_t>(at - small_device_), was.bytes);
    }
    late_ranges_.push_back(std::move(was.range));
  }
  drop_late();
}

/// Frees ranges that were released, when no copy or zeroing is under way; otherwise at the next allocation.
void cuda_memory::drop_late() const noexcept {
  std::vector<std::unique_ptr<device_range>> late;
  {
    std::lock_guard const lock{mutex_};
    late.swap(late_ranges_);
  }
  if (late.empty()) return;
  std::uint64_t gone = 0;
  destroy_on(device_, [&] {
    if (!is_idle()) return;
    for (auto const& each : late) gone += each->is_away() ? 0 : each->bytes();
    late.clear();
  });
  std::lock_guard const lock{mutex_};
  account_.give_back(gone);
  late_ranges_.insert(late_ranges_.end(), std::make_move_iterator(late.begin()), std::make_move_iterator(late.end()));
}

std::unique_ptr<device_range> cuda_memory::surrender(void* memory) noexcept {
  std::lock_guard const lock{mutex_};
  auto ended = allocated_.extract(memory);
  if (ended.empty()) return nullptr;
  auto range = std::move(ended.mapped().range);
  if (range != nullptr && !range->is_away()) account_.give_back(range->bytes());
  return range;
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
  return account_.taken();
}

bytes_left cuda_memory::free_bytes() const {
  drop_late();
  std::uint64_t free = device_free_bytes();
  free -= std::min<std::uint64_t>(free, reserve_bytes_);
  free -= free / 16;
  std::lock_guard const lock{mutex_};
  std::uint64_t const allowed = account_.left();
  if (allowed < free) return {allowed, true};
  return {free};
}

/// Returns the memory to which addresses lead whose memory is away; makes it at the first call.
std::shared_ptr<stray_memory const> cuda_memory::stray_for(std::size_t range_bytes) {
  bool const is_large = range_bytes >= device_range::large_bytes;
  std::shared_ptr<stray_memory const> known;
  {
    std::lock_guard const lock{mutex_};
    known = stray_;
  }
  if (known != nullptr && (!is_large || known->large() != nullptr)) return known;
  std::shared_ptr<stray_memory const> made;
  try {
    made = make_stray(is_large);
  } catch (limit_error const&) {  // use the small piece, which takes longer
    if (known != nullptr) return known;
    if (!is_large) throw;
    made = make_stray(false);
  }
  std::lock_guard const lock{mutex_};
  bool const is_better = stray_ == nullptr || (made->large() != nullptr && stray_->large() == nullptr);
  if (is_better) std::swap(stray_, made);
  if (made != nullptr) account_.give_back(made->bytes());  // freed when no address leads there any longer
  return stray_;
}

std::shared_ptr<stray_memory const> cuda_memory::make_stray(bool with_large) {
  std::uint64_t const bytes = stray_memory::bytes_for(with_large);
  take_from_account(bytes);
  try {
    return std::make_shared<stray_memory>(device_, with_large);
  } catch (...) {
    give_to_account(bytes);
    throw;
  }
}

/// Returns null if the memory is not from here, or is in the small arena.
device_range* cuda_memory::range_of(void* memory) const {
  std::lock_guard const lock{mutex_};
  auto const known = allocated_.find(memory);
  return known != allocated_.end() ? known->second.range.get() : nullptr;
}

/// A range that moves is not released meanwhile: job_memory::move prevents it.
void cuda_memory::withdraw(void* memory) {
  cuda_device_guard const here{device_};
  device_range* const range = range_of(memory);
  if (range == nullptr || range->is_away()) return;
  range->withdraw(stray_for(0));
  give_to_account(range->bytes());
}

bool cuda_memory::restore(void* memory) {
  cuda_device_guard const here{device_};
  device_range* const range = range_of(memory);
  if (range == nullptr || !range->is_away()) return false;
  drop_late();
  take_from_account(range->bytes());
  try {
    require_unreserved(range->bytes());
    range->restore();
  } catch (...) {
    give_to_account(range->bytes());
    throw;
  }
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
  {
    std::lock_guard const lock{mutex_};
    pinned* best = nullptr;
    for (pinned& each : pinned_) {
      if (!each.in_use && each.bytes >= bytes && (best == nullptr || each.bytes < best->bytes)) best = &each;
    }
    if (best != nullptr) {
      best->in_use = true;
      return best->memory;
    }
  }
  cuda_device_guard const here{device_};
  void* memory = nullptr;
  cudaError_t const code = cudaHostAlloc(&memory, std::max<std::size_t>(bytes, 1), cudaHostAllocPortable);
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw limit_error{"this computer cannot pin " + std::to_string(bytes) +
                      " bytes of memory: choose a smaller buffer"};
  }
  LULL_CUDA(code);
  std::lock_guard const lock{mutex_};
  pinned_.push_back({memory, bytes, true});
  return memory;
}

void cuda_memory::unpin(void* memory) noexcept {
  std::lock_guard const lock{mutex_};
  for (pinned& each : pinned_) {
    if (each.memory == memory) each.in_use = false;
  }
}

std::unique_lock<std::timed_mutex> cuda_memory::lock_staging() {
  std::unique_lock lock{staging_mutex_, patient_copies::limit()};
  if (!lock) throw_late();
  if (late_) wait();
  return lock;
}

void cuda_memory::write(void* to, void const* from, std::size_t bytes) {
  cuda_device_guard const here{device_};
  unsigned char* const staging = arena_host_ + arena_bytes;
  for (std::size_t at = 0; at < bytes; at += staging_bytes) {
    std::size_t const part = std::min(staging_bytes, bytes - at);
    auto const lock = lock_staging();  // other threads' small copies may go between two parts
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
    auto const lock = lock_staging();
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
