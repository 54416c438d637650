// SPDX-License-Identifier: Apache-2.0
// A worker of another process that overwrites all of the trainer's memory that it can reach, until the trainer kills
// it. Argument: the trainer's socket. Exit code 0: nothing stopped it for 20 s.
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <thread>

#include <cuda_runtime_api.h>

#include <lull/host/attach/attachment.hpp>
#include <lull/host/executor.hpp>

int main(int, char** arguments) {
  using namespace std::chrono_literals;
  try {
    auto const machine = lull::make_executor({.kind = lull::executor_kind::cuda});
    auto const trainer = lull::attach::attachment::to(arguments[1], {.name = "overwrites",
                                                                     .kind = lull::executor_kind::cuda,
                                                                     .device = machine->place().pci_bus_id,
                                                                     .together = machine->runs_processes_together()});
    if (trainer == nullptr) return 2;
    auto const lines = machine->open_exported(trainer->page().lines);
    lull::attach::report wants;  // a turn
    wants.jobs = 1;
    constexpr std::size_t exported = std::size_t{2} << 20;
    auto const until = std::chrono::steady_clock::now() + 20s;
    for (int byte = 1; std::chrono::steady_clock::now() < until; ++byte) {
      trainer->say(wants, std::chrono::steady_clock::now());
      if (cudaMemset(lines.get(), byte & 255, exported) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess)
        return 3;
    }
    return 0;
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 4;
  }
}
