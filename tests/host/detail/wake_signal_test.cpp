// SPDX-License-Identifier: Apache-2.0
#include <lull/host/detail/wake_signal.hpp>

#include <thread>

#include <gtest/gtest.h>

namespace lull::detail {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
constexpr auto long_enough = 1h;  // a test that gets it wrong is ended by its time limit

TEST(wake_signal, what_comes_while_the_dispatcher_is_awake_is_not_slept_through) {
  wake_signal signal;
  signal.notify();
  signal.sleep_until(steady::now() + long_enough);
  signal.notify_before(steady::now());
  signal.sleep_until(steady::now() + long_enough);
}

TEST(wake_signal, wakes_who_would_sleep_for_longer) {
  wake_signal signal;
  std::thread other{[&] {
    for (int i = 0; i < 100; ++i) {
      std::this_thread::sleep_for(100us);
      signal.notify_before(steady::now());
    }
  }};
  for (int i = 0; i < 10; ++i)
    signal.sleep_until(steady::now() + (i == 0 ? std::chrono::nanoseconds{long_enough} : 1ms));
  other.join();
}

TEST(wake_signal, sleeps_until_the_time_that_was_asked_for) {
  wake_signal signal;
  auto const until = steady::now() + 5ms;
  signal.notify_before(until);
  signal.sleep_until(steady::now() + long_enough);
  EXPECT_GE(steady::now(), until);
}

TEST(wake_signal, what_was_asked_for_is_forgotten_after_the_return) {
  wake_signal signal;
  signal.notify();
  signal.sleep_until(steady::now() + long_enough);
  auto const until = steady::now() + 2ms;
  signal.sleep_until(until);
  EXPECT_GE(steady::now(), until);
}

}  // namespace
}  // namespace lull::detail
