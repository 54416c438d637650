// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include <lull/host/cuda/device_guard.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/pending_chain.hpp>
#include <lull/host/measure/cuda/worker_streams.hpp>
#include <lull/host/measure/waiting_cost.hpp>

namespace lull {
namespace {

using namespace std::chrono_literals;

constexpr int kernels = 300;      // of a chain: about a millisecond
constexpr int candidates = 6;     // of each kind of stream
constexpr int repeats = 3;        // of each trial
constexpr auto long_enough = 1s;  // a GPU that does nothing else needs less than half of it

std::vector<waiting_row> measure() {
  cuda_stream const trainer{0};
  cuda_stream const another{0};  // of the program's own, as NCCL's are
  worker_streams const workers{candidates};
  pending_chain chain{kernels};  // goes first, when the device is done with the streams
  auto const kernel_ns = [&](std::size_t stream, int waits) {
    return chain.kernel_ns(trainer.get(), [&] {
      if (waits >= 2) chain.wait_for_end(another.get());
      if (waits >= 1) chain.wait_for_end(workers.all()[stream].stream);
    });
  };
  for (int i = 0; i < 3; ++i) kernel_ns(0, 2);  // warms up
  std::vector<waiting_row> trials;
  for (std::size_t stream = 0; stream < workers.all().size(); ++stream) {
    for (int const waits : {1, 2}) trials.push_back({stream, waits, 0, 0});
  }
  std::mt19937_64 random{7};
  std::vector<waiting_row> rows;
  auto const until = std::chrono::steady_clock::now() + long_enough;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    std::shuffle(trials.begin(), trials.end(), random);
    for (waiting_row row : trials) {
      if (std::chrono::steady_clock::now() >= until) return rows;
      row.base_ns = kernel_ns(row.stream, 0);
      row.with_ns = kernel_ns(row.stream, row.waits);
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace

waiting_cost measure_waiting(int device) {
  if (std::string const why = why_no_cuda(device); !why.empty()) return {.why_not = "NOT RUN: " + why};
  try {
    cuda_device_guard const here{device};
    return summarise(measure());
  } catch (error const& problem) {
    return {.why_not = std::string{"not measured: "} + problem.what()};
  }
}

}  // namespace lull
