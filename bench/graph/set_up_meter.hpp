// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

namespace lull::bench {

/// CPU time of all threads of the process together.
inline double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Anonymous memory that the process holds now.
inline std::uint64_t anonymous_bytes() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) * 1024;
  }
  return 0;
}

/// Watches the process's anonymous memory, by a thread that looks five times a millisecond.
class memory_watch {
 public:
  memory_watch()
      : thread_{[this](std::stop_token const& done) {
          while (!done.stop_requested()) {
            max_ = std::max(max_, anonymous_bytes());
            std::this_thread::sleep_for(std::chrono::microseconds{200});
          }
        }} {}

  /// Ends the watch. The most there was since its beginning, beyond what there was then.
  std::uint64_t added_bytes() {
    thread_.request_stop();
    thread_.join();
    return max_ - before_;
  }

 private:
  std::uint64_t const before_ = anonymous_bytes();
  std::uint64_t max_ = before_;
  std::jthread thread_;
};

/// While it lives, the calling thread and those that it starts run on so many of the processors that it may use.
class core_limit {
 public:
  explicit core_limit(unsigned cores) {
    ::sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t some{};
    for (int core = 0; core < CPU_SETSIZE && cores > 0; ++core) {
      if (!CPU_ISSET(core, &before_)) continue;
      CPU_SET(core, &some);
      --cores;
    }
    ::sched_setaffinity(0, sizeof some, &some);
  }
  ~core_limit() { ::sched_setaffinity(0, sizeof before_, &before_); }
  core_limit(core_limit const&) = delete;
  core_limit& operator=(core_limit const&) = delete;

 private:
  cpu_set_t before_{};
};

}  // namespace lull::bench
