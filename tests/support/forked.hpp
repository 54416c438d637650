// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>

#include <gtest/gtest.h>

#include <lull/tests/support/within_time.hpp>

namespace lull::test {

/// Runs in a child, which stays until it is killed: it never exits, because a sanitizer's threads would not be joined.
template <class Work>
pid_t forked(Work work) {
  pid_t const child = ::fork();
  if (child != 0) return child;
  work();
  for (;;) ::pause();
}

inline void kill_child(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

/// Waits for a child's end and returns its status, as of waitpid. One that takes too long is killed.
inline int status_of(pid_t child, std::chrono::nanoseconds at_most = long_enough) {
  int status = -1;
  pid_t ended = 0;
  if (within_time([&] { return (ended = ::waitpid(child, &status, WNOHANG)) != 0; }, at_most)) {
    EXPECT_EQ(ended, child);
  } else {
    ADD_FAILURE() << "a child did not end";
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
  }
  return status;
}

/// Kills a process that is not this one's child when the test ends in any way.
class killed_at_end {
 public:
  explicit killed_at_end(pid_t process) : process_(process) {}
  ~killed_at_end() { ::kill(process_, SIGKILL); }
  killed_at_end(killed_at_end const&) = delete;
  killed_at_end& operator=(killed_at_end const&) = delete;

 private:
  pid_t process_;
};

/// For values from a child.
class value_pipe {
 public:
  value_pipe() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) throw std::runtime_error{"no pipe"};
  }
  ~value_pipe() {
    for (int const each : ends_) ::close(each);
  }
  value_pipe(value_pipe const&) = delete;
  value_pipe& operator=(value_pipe const&) = delete;

  template <class T>
  T read() {
    T value{};
    EXPECT_EQ(::read(ends_[0], &value, sizeof value), static_cast<ssize_t>(sizeof value));
    return value;
  }
  template <class T>
  void write(T value) {
    if (::write(ends_[1], &value, sizeof value) != static_cast<ssize_t>(sizeof value)) std::abort();
  }

 private:
  int ends_[2];
};

}  // namespace lull::test
