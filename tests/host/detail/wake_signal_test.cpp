// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/wake_signal.hpp>
#include <lull/tests/support/within_time.hpp>

#include <thread>

#include <gtest/gtest.h>

namespace lull::detail {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// Sleeps as a thread that only a request wakes.
void sleep(wake_signal& signal) {
  auto const limit = steady::now() + long_enough;
  signal.sleep_until(limit);
  EXPECT_LT(steady::now(), limit) << "nobody has woken it";
}

TEST(wake_signal, what_comes_while_the_dispatcher_is_awake_is_not_slept_through) {
  wake_signal signal;
  signal.notify();
  sleep(signal);
  signal.notify_before(steady::now());
  sleep(signal);
}

TEST(wake_signal, what_comes_late_while_the_dispatcher_is_awake_is_not_slept_through) {
  wake_signal signal;
  signal.sleep_until(steady::now());
  signal.notify_before(steady::now() + 5ms);  // later than it slept
  sleep(signal);
}

TEST(wake_signal, wakes_who_would_sleep_for_longer) {
  wake_signal signal;
  std::thread other{[&] {
    for (int i = 0; i < 100; ++i) {
      std::this_thread::sleep_for(100us);
      signal.notify_before(steady::now());
    }
  }};
  sleep(signal);
  for (int i = 0; i < 9; ++i) signal.sleep_until(steady::now() + 1ms);
  other.join();
}

TEST(wake_signal, sleeps_until_the_time_that_was_asked_for) {
  wake_signal signal;
  auto const until = steady::now() + 5ms;
  signal.notify_before(until);
  sleep(signal);
  EXPECT_GE(steady::now(), until);
}

TEST(wake_signal, what_was_asked_for_is_forgotten_after_the_return) {
  wake_signal signal;
  signal.notify();
  sleep(signal);
  auto const until = steady::now() + 2ms;
  signal.sleep_until(until);
  EXPECT_GE(steady::now(), until);
}

}  // namespace
}  // namespace lull::detail
