// SPDX-License-Identifier: Apache-2.0
#include <lull/apps/lull/stop_request.hpp>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <limits>
#include <string>

#include <lull/host/error.hpp>

namespace lull {
namespace {

// Process-wide, as signals are.
std::atomic<bool> requested_now = false;
std::atomic<bool> alive = false;
std::atomic<std::int64_t> requested_at_ns = 0;  // on the monotonic clock
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler may touch lock-free atomics only");

constexpr std::int64_t same_wish_ns = 1'000'000'000;

// Async-signal-safe: atomics, clock_gettime, sigaction and raise, nothing else.
extern "C" void on_stop_signal(int signal) {
  int const code = errno;
  struct timespec time {};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  std::int64_t const now_ns = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  if (!requested_now.exchange(true, std::memory_order_relaxed)) {  // publishes nothing but itself
    requested_at_ns.store(now_ns, std::memory_order_relaxed);
  } else if (now_ns - requested_at_ns.load(std::memory_order_relaxed) >= same_wish_ns) {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(signal, &standard, nullptr);
    ::raise(signal);  // comes when this returns
  }
  errno = code;
}

}  // namespace

stop_request::stop_request() {
  if (alive.exchange(true, std::memory_order_relaxed)) throw usage_error("a stop_request is installed already");
  requested_now.store(false, std::memory_order_relaxed);
  requested_at_ns.store(std::numeric_limits<std::int64_t>::max(), std::memory_order_relaxed);
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART;  // a stop ends the work at its own place, not in the middle of a read or a write
  ::sigemptyset(&action.sa_mask);
  for (int const signal : signals) ::sigaddset(&action.sa_mask, signal);
  for (int const signal : signals) {
    struct sigaction* const old = &old_[installed_];
    bool const works = ::sigaction(signal, nullptr, old) == 0 &&
                       (old->sa_handler == SIG_IGN || ::sigaction(signal, &action, nullptr) == 0);
    if (!works) {
      int const code = errno;
      restore();
      throw device_error(code, std::strerror(code), "sigaction for signal " + std::to_string(signal), "stop_request");
    }
    ++installed_;
  }
}

stop_request::~stop_request() { restore(); }

void stop_request::restore() noexcept {
  for (std::size_t i = 0; i < installed_; ++i) ::sigaction(signals[i], &old_[i], nullptr);
  alive.store(false, std::memory_order_relaxed);
}

bool stop_request::requested() const noexcept { return requested_now.load(std::memory_order_relaxed); }

}  // namespace lull
