// SPDX-License-Identifier: Apache-2.0
#pragma once

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

  /// Returns what `work` does: the process's exit code. 2 after not_run, 1 after any other error; both are said on
  /// standard error.
  int run(int argc, char** argv, std::function<int()> const& work) try {
    CLI11_PARSE(app, argc, argv);
    if (connections_ != nullptr && *connections_ != 0)
      ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(*connections_).c_str(), 1);
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
};

}  // namespace lull::bench
