// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace lull::detail {

inline constexpr unsigned max_set_up_threads = 16;  // more gain nothing here: memory is the limit before that

/// How many threads to use: `wanted`, or those of the machine where that is 0, and never more than 16.
inline unsigned set_up_threads(unsigned wanted) noexcept {
  auto const executor = std::max(1U, std::thread::hardware_concurrency());
  return std::min(wanted == 0 ? executor : wanted, max_set_up_threads);
}

/// Calls work(part) once for each part below `parts`, on up to `threads` threads, the caller's among them, parts
/// taken in rising order. Blocks until all are done. If some throw, no further part is begun and the exception of
/// the lowest part that threw is thrown on. Fewer threads than asked for are not an error.
template <class Work>
void for_each_part(std::size_t parts, unsigned threads, Work const& work) {
  std::atomic<std::size_t> next{0};
  std::mutex fault_lock;
  std::exception_ptr fault;
  std::size_t fault_part = parts;
  auto const loop = [&]() noexcept {
    for (;;) {
      auto const part = next.fetch_add(1, std::memory_order_relaxed);  // publishes nothing; joining does
      if (part >= parts) return;
      try {
        work(part);
      } catch (...) {
        next.store(parts, std::memory_order_relaxed);
        std::scoped_lock const guard{fault_lock};
        if (part < fault_part) {
          fault = std::current_exception();
          fault_part = part;
        }
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    auto const wanted = std::min<std::size_t>(std::max(threads, 1U), parts);
    try {
      helpers.reserve(wanted);
      while (helpers.size() + 1 < wanted) helpers.emplace_back(loop);
    } catch (std::system_error const&) {
      // The machine gives no more threads: those that run, and this one, do all parts.
    }
    loop();
  }
  if (fault) std::rethrow_exception(fault);
}

}  // namespace lull::detail
