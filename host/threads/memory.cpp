// SPDX-License-Identifier: Apache-2.0
// What is allocated on CPU threads, and what of it is away.
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

/// Large arrays are huge pages where the machine has them: there are fewer of them to take.
constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

std::align_val_t alignment(std::size_t bytes) {
  return std::align_val_t{bytes < huge_page_bytes ? 128 : huge_page_bytes};
}

}  // namespace

/// The caller holds the mutex. The reserve is of what the limit allows: here that is the machine's memory.
void threads_executor::require_free(std::size_t bytes) const {
  if (limit_bytes_ == 0) return;
  std::size_t const left = limit_bytes_ - std::min(limit_bytes_, taken_.now);
  if (bytes > left) {
    throw limit_error{"memory limit of " + std::to_string(limit_bytes_) +
                      " bytes reached: " + std::to_string(taken_.now) + " are in use, and a task needs " +
                      std::to_string(bytes) + " more; raise memory_limit"};
  }
}

void* threads_executor::allocate(std::size_t bytes) {
  std::shared_ptr<job_memory> const of_job = job_memory::of_this_thread();
  {
    std::lock_guard const lock{memory_mutex_};
    require_free(bytes + (of_job != nullptr ? reserve_bytes_ : 0));
    taken_.add(bytes);
  }
  void* const memory = ::operator new(std::max<std::size_t>(bytes, 1), alignment(bytes), std::nothrow);
  if (memory != nullptr && bytes >= huge_page_bytes) ::madvise(memory, bytes, MADV_HUGEPAGE);  // only a hint
  if (memory != nullptr) std::memset(memory, 0, bytes);  // under no lock: it takes long
  {
    std::lock_guard const lock{memory_mutex_};
    if (memory != nullptr) {
      allocated_[memory] = {bytes, of_job};
    } else {
      taken_.remove(bytes);
    }
  }
  if (memory == nullptr) throw limit_error{"out of memory: " + std::to_string(bytes) + " bytes"};
  if (of_job != nullptr) of_job->add(memory, {bytes, bytes >= min_leaving_bytes});
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
  if (!ended.mapped().is_away) taken_.remove(ended.mapped().bytes);
  lock.unlock();
  ::operator delete(memory, alignment(ended.mapped().bytes));
}

bytes_left threads_executor::free_bytes() const {
  if (limit_bytes_ == 0) return {any_bytes};
  std::uint64_t const free = device_free_bytes();
  return {free - std::min<std::uint64_t>(free, reserve_bytes_), true};
}

bytes_taken threads_executor::taken_bytes() const {
  std::lock_guard const lock{memory_mutex_};
  return taken_;
}

std::uint64_t threads_executor::device_free_bytes() const {
  std::lock_guard const lock{memory_mutex_};
  if (limit_bytes_ == 0) return any_bytes;
  return limit_bytes_ - std::min(limit_bytes_, taken_.now);
}

/// What was there is gone; the pages themselves are the process's.
void threads_executor::withdraw(void* memory) {
  std::lock_guard const lock{memory_mutex_};
  auto const known = allocated_.find(memory);
  if (known == allocated_.end() || std::exchange(known->second.is_away, true)) return;
  std::memset(memory, 0xA5, known->second.bytes);
  taken_.remove(known->second.bytes);
}

bool threads_executor::restore(void* memory) {
  std::lock_guard const lock{memory_mutex_};
  auto const known = allocated_.find(memory);
  if (known == allocated_.end() || !known->second.is_away) return false;
  require_free(known->second.bytes + reserve_bytes_);
  known->second.is_away = false;
  taken_.add(known->second.bytes);
  return true;
}

}  // namespace lull
