// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include <chrono>

namespace lull::bench {

inline std::chrono::nanoseconds processor_time(clockid_t of) {
  timespec now{};
  clock_gettime(of, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

/// Share of a core that others than the calling thread take while it does `work` over and over.
template <class Work>
double others_percent(std::chrono::seconds time, Work&& work) {
  auto const others = [] { return processor_time(CLOCK_PROCESS_CPUTIME_ID) - processor_time(CLOCK_THREAD_CPUTIME_ID); };
  auto const began = std::chrono::steady_clock::now();
  auto const before = others();
  while (std::chrono::steady_clock::now() - began < time) work();
  std::chrono::duration<double> const taken = others() - before;
  std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - began;
  return 100 * taken.count() / passed.count();
}

}  // namespace lull::bench
