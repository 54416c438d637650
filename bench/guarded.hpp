// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <lull/host/executor.hpp>

namespace lull::bench {

/// Why nothing was measured.
struct not_run : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws not_run where no GPU answers.
inline void need_gpu() {
  if (std::string const why = why_no_cuda(0); !why.empty()) throw not_run{why};
}

/// Returns what `work` does: the process's exit code. 2 after not_run, 1 after any other error; both are said on
/// standard error.
inline int guarded(std::string const& name, std::function<int()> const& work) try {
  return work();
} catch (not_run const& why) {
  std::fprintf(stderr, "%s: NOT RUN: %s\n", name.c_str(), why.what());
  return 2;
} catch (std::exception const& problem) {
  std::fprintf(stderr, "%s: %s\n", name.c_str(), problem.what());
  return 1;
}

/// When the time is over the process ends, with a message and exit code 124: what waits for a GPU that hangs ends by
/// nothing else.
inline void end_process_after(std::chrono::seconds limit) {
  std::signal(SIGALRM, [](int) {
    constexpr std::string_view text = "not done within the time limit; this process ends\n";
    [[maybe_unused]] auto const written = ::write(2, text.data(), text.size());
    ::_exit(124);
  });
  ::alarm(static_cast<unsigned>(limit.count()));
}

/// What a runtime of a bench logs.
inline void log_line(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace lull::bench
