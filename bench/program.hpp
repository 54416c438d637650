// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

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

/// The command line of a bench, and how it ends.
class program {
 public:
  program(std::string name, std::string const& what) : app{what}, name_(std::move(name)) {}

  CLI::App app;

  /// --connections, which is in the environment before the first call of CUDA.
  void add_connections(int& into) {
    connections_ = &into;
    app.add_option("--connections", into, "CUDA_DEVICE_MAX_CONNECTIONS; 0: as it is")->check(CLI::Range(0, 32));
  }
  /// --limit, after which the process ends.
  void add_limit(int seconds, int most = 3600) {
    limit_ = seconds;
    app.add_option("--limit", limit_, "seconds after which the process ends")->check(CLI::Range(1, most));
  }

  /// Returns what `work` does: the process's exit code. 2 after not_run, 1 after any other error; both are said on
  /// standard error.
  int run(int argc, char** argv, std::function<int()> const& work) try {
    CLI11_PARSE(app, argc, argv);
    if (connections_ != nullptr && *connections_ != 0)
      ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(*connections_).c_str(), 1);
    if (limit_ != 0) end_process_after(std::chrono::seconds{limit_});
    return work();
  } catch (not_run const& why) {
    std::fprintf(stderr, "%s: NOT RUN: %s\n", name_.c_str(), why.what());
    return 2;
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "%s: %s\n", name_.c_str(), problem.what());
    return 1;
  }

 private:
  std::string name_;
  int const* connections_ = nullptr;
  int limit_ = 0;
};

}  // namespace lull::bench
