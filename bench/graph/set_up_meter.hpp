// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace lull::bench {

/// CPU time of all threads of the process together.
double cpu_seconds();

/// Anonymous memory that the process holds now.
std::uint64_t anonymous_bytes();

/// Watches the process's anonymous memory, by a thread that looks five times a millisecond.
class memory_watch {
 public:
  memory_watch();
  ~memory_watch();
  memory_watch(memory_watch const&) = delete;
  memory_watch& operator=(memory_watch const&) = delete;

  /// Ends the watch. The most there was since its beginning, beyond what there was then.
  std::uint64_t added_bytes();

 private:
  std::uint64_t const before_;
  std::uint64_t max_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

/// While it lives, the calling thread and those that it starts run on so many of the processors that it may use.
class core_limit {
 public:
  explicit core_limit(unsigned cores);
  ~core_limit();
  core_limit(core_limit const&) = delete;
  core_limit& operator=(core_limit const&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace lull::bench
