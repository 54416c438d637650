// SPDX-License-Identifier: Apache-2.0
// What is allocated on CPU threads, and which of it is away.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include <lull/host/error.hpp>
#include <lull/host/threads/executor.hpp>

namespace lull {

namespace {

/// Large arrays use huge pages if the machine has them, which is faster to fault in.
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

std::align_val_t alignment(std::size_t bytes) {
  return std::align_val_t{bytes < huge_page_bytes ? 128 : huge_page_bytes};
}

}  // namespace

/// The reserve counts within the limit, which here is the machine's memory.
void* threads_executor::allocate(std::size_t bytes) {
  std::shared_ptr<job_memory> const of_job = job_memory::of_this_thread();
  {
    std::lock_guard const lock{memory_mutex_};
    account_.take(bytes, of_job != nullptr ? reserve_bytes_ : 0);
  }
  void* const memory = ::operator new(std::max<std::size_t>(bytes, 1), alignment(bytes), std::nothrow);
  if (memory != nullptr && bytes >= huge_page_bytes) ::madvise(memory, bytes, MADV_HUGEPAGE);  // only a hint
  if (memory != nullptr) std::memset(memory, 0, bytes);  // under no lock: it takes long
  {
    std::lock_guard const lock{memory_mutex_};
    if (memory != nullptr) {
      allocated_[memory] = {bytes, of_job};
    } else {
      account_.give_back(bytes);
    }
  }
  if (memory == nullptr) throw limit_error{"out of memory: " + std::to_string(bytes) + " bytes"};
  if (of_job != nullptr) of_job->add(memory, {bytes, bytes, bytes >= min_leaving_bytes});
  return memory;
}

void threads_executor::release(void* memory) noexcept {
  if (memory == nullptr) return;
  std::shared_ptr<job_memory> of_job;
  {
    std::lock_guard const lock{memory_mutex_};
    auto const known = allocated_.find(memory);
    if (known == allocated_.end()) return;
    of_job = known->second.of_job;
  }
  if (of_job == nullptr) return release_now(memory);
  of_job->remove(memory, [this, memory] { release_now(memory); });
}

void threads_executor::release_now(void* memory) noexcept {
  std::unique_lock lock{memory_mutex_};
  auto const ended = allocated_.extract(memory);
  if (ended.empty()) return;
  if (!ended.mapped().is_away) account_.give_back(ended.mapped().bytes);
  lock.unlock();
  ::operator delete(memory, alignment(ended.mapped().bytes));
}

bytes_left threads_executor::free_bytes() const {
  std::uint64_t const free = device_free_bytes();
  if (free == any_bytes) return {free};
  return {free - std::min<std::uint64_t>(free, reserve_bytes_), true};
}

bytes_taken threads_executor::taken_bytes() const {
  std::lock_guard const lock{memory_mutex_};
  return account_.taken();
}

std::uint64_t threads_executor::device_free_bytes() const {
  std::lock_guard const lock{memory_mutex_};
  return account_.left();
}

/// Drops the content; the pages themselves stay the process's.
void threads_executor::withdraw(void* memory) {
  std::lock_guard const lock{memory_mutex_};
  auto const known = allocated_.find(memory);
  if (known == allocated_.end() || std::exchange(known->second.is_away, true)) return;
  std::memset(memory, 0xA5, known->second.bytes);
  account_.give_back(known->second.bytes);
}

bool threads_executor::restore(void* memory) {
  std::lock_guard const lock{memory_mutex_};
  auto const known = allocated_.find(memory);
  if (known == allocated_.end() || !known->second.is_away) return false;
  account_.take(known->second.bytes, reserve_bytes_);
  known->second.is_away = false;
  return true;
}

}  // namespace lull
