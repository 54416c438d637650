// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/forks.hpp>

#include <atomic>

#include <pthread.h>

namespace lull::detail {

namespace {

std::atomic<std::uint64_t> forks{0};

}  // namespace

std::uint64_t forks_now() noexcept {
  static bool const counted = pthread_atfork(nullptr, nullptr, [] { ++forks; }) == 0;
  return counted ? forks.load(std::memory_order_relaxed) : 0;  // publishes nothing: a child begins with one thread
}

}  // namespace lull::detail
