// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include <lull/bench/guarded.hpp>

namespace lull::bench {

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

  int run(int argc, char** argv, std::function<int()> const& work) {
    CLI11_PARSE(app, argc, argv);
    if (connections_ != nullptr && *connections_ != 0)
      ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(*connections_).c_str(), 1);
    if (limit_ != 0) end_process_after(std::chrono::seconds{limit_});
    return guarded(name_, work);
  }

 private:
  std::string name_;
  int const* connections_ = nullptr;
  int limit_ = 0;
};

}  // namespace lull::bench
