// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lull::test {

/// Counts the pages of some arrays that are touched between `begin` and `end`, by whatever thread. The pages are
/// protected meanwhile: the first access of each faults, and a handler counts it and lets it through. So it sees what
/// code really reads, without a change to that code. Only pages that lie in an array as a whole are counted. One at a
/// time; the memory must not be read by system calls in between.
class touched_pages {
 public:
  explicit touched_pages(std::vector<std::span<std::byte const>> const& arrays) {
    std::uintptr_t const page = page_bytes();
    for (auto const& array : arrays) {
      auto const from = reinterpret_cast<std::uintptr_t>(array.data());
      std::uintptr_t const first = (from + page - 1) / page * page;
      std::uintptr_t const last = (from + array.size()) / page * page;
      if (first < last) ranges_.push_back({first, last, std::vector<std::atomic<bool>>((last - first) / page)});
    }
    current_ = this;
    struct sigaction action {};
    action.sa_sigaction = &on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_);
  }
  ~touched_pages() {
    protect(PROT_READ | PROT_WRITE);
    sigaction(SIGSEGV, &before_, nullptr);
    current_ = nullptr;
  }
  touched_pages(touched_pages const&) = delete;
  touched_pages& operator=(touched_pages const&) = delete;

  static std::uintptr_t page_bytes() { return static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)); }

  void begin() {
    count_ = 0;
    for (range& each : ranges_) {
      for (auto& seen : each.seen) seen.store(false, std::memory_order_relaxed);
    }
    protect(PROT_NONE);
  }
  std::uint64_t end() {
    protect(PROT_READ | PROT_WRITE);
    return count_;
  }

 private:
  struct range {
    std::uintptr_t first;
    std::uintptr_t last;
    std::vector<std::atomic<bool>> seen;  // (pages,)
  };

  void protect(int access) {
    for (range const& each : ranges_) mprotect(reinterpret_cast<void*>(each.first), each.last - each.first, access);
  }

  /// True: the address is in one of the pages, which can now be accessed.
  bool let_through(std::uintptr_t address) {
    for (range& each : ranges_) {
      if (address < each.first || address >= each.last) continue;
      std::uintptr_t const page = (address - each.first) / page_bytes();
      if (!each.seen[page].exchange(true, std::memory_order_relaxed)) count_.fetch_add(1, std::memory_order_relaxed);
      auto* const begin = reinterpret_cast<void*>(each.first + page * page_bytes());
      return mprotect(begin, page_bytes(), PROT_READ | PROT_WRITE) == 0;
    }
    return false;
  }

  /// A fault elsewhere comes again, and ends the process as it would have without this.
  static void on_fault(int, siginfo_t* about, void*) {
    if (!current_->let_through(reinterpret_cast<std::uintptr_t>(about->si_addr))) {
      sigaction(SIGSEGV, &current_->before_, nullptr);
    }
  }

  static inline touched_pages* current_ = nullptr;
  std::vector<range> ranges_;
  std::atomic<std::uint64_t> count_{0};
  struct sigaction before_ {};
};

}  // namespace lull::test
