// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/graph/set_up_meter.hpp>

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <string>

namespace lull::bench {

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::uint64_t anonymous_bytes() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) * 1024;
  }
  return 0;
}

memory_watch::memory_watch() : before_(anonymous_bytes()), max_(before_) {
  thread_ = std::thread{[this] {
    while (!done_.load(std::memory_order_relaxed)) {
      max_ = std::max(max_, anonymous_bytes());
      std::this_thread::sleep_for(std::chrono::microseconds{200});
    }
  }};
}

memory_watch::~memory_watch() {
  if (thread_.joinable()) added_bytes();
}

std::uint64_t memory_watch::added_bytes() {
  done_.store(true, std::memory_order_relaxed);
  thread_.join();
  return max_ - before_;
}

core_limit::core_limit(unsigned cores) {
  CPU_ZERO(&before_);
  ::sched_getaffinity(0, sizeof before_, &before_);
  cpu_set_t some;
  CPU_ZERO(&some);
  unsigned taken = 0;
  for (int core = 0; core < CPU_SETSIZE && taken < cores; ++core) {
    if (!CPU_ISSET(core, &before_)) continue;
    CPU_SET(core, &some);
    ++taken;
  }
  ::sched_setaffinity(0, sizeof some, &some);
}

core_limit::~core_limit() { ::sched_setaffinity(0, sizeof before_, &before_); }

}  // namespace lull::bench
