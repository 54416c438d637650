// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <lull/tests/support/forked.hpp>

namespace lull::test {

/// Starts a program without its output.
inline pid_t started_program(std::vector<std::string> arguments) {
  pid_t const child = fork();
  if (child != 0) return child;
  std::vector<char*> words;
  for (std::string& each : arguments) words.push_back(each.data());
  words.push_back(nullptr);
  if (freopen("/dev/null", "w", stdout) == nullptr || freopen("/dev/null", "w", stderr) == nullptr) _exit(126);
  execv(words.front(), words.data());
  _exit(127);
}

/// Runs a program without its output, and kills it after that time; 0: lets it end. Returns the exit status as from
/// waitpid.
inline int program(std::vector<std::string> arguments, std::chrono::microseconds kill_after) {
  pid_t const child = started_program(std::move(arguments));
  if (kill_after.count() != 0) {
    std::this_thread::sleep_for(kill_after);
    kill(child, SIGKILL);
  }
  return status_of(child, std::chrono::seconds{120});  // a program's whole job
}

}  // namespace lull::test
