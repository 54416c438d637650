// SPDX-License-Identifier: Apache-2.0
// What a bubble costs the trainer's host: opening and closing it, and a call that waits for the device inside it; and
// what a harvest keeps of such a bubble. Turns with and without Lull, in one process. Counters: host_* in microseconds,
// call_* in milliseconds.
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include <lull/bench/program.hpp>
#include <lull/bench/side_work/endless_work.hpp>
#include <lull/host/cuda/check.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/measure/statistics.hpp>
#include <lull/host/runtime.hpp>

namespace {

using namespace lull;
using namespace std::chrono_literals;
using watch = std::chrono::steady_clock;

constexpr std::uint64_t bubble_ns = 1'000'000;
constexpr int turns = 40;   // of each: without Lull, then with it
constexpr int group = 10;   // bubbles a turn
constexpr int warm_up = 4;  // turns, in which a site learns how its host behaves

enum class call { nothing, stream_synchronise, device_synchronise, free };

/// A trainer whose step is bubbles with a burst after each.
class trainer_host {
 public:
  explicit trainer_host(call inside) : inside_(inside) { trainer::load(); }

  struct times {
    std::vector<double> host_us;  // open and close together
    std::vector<double> call_ms;
  };

  void turn(runtime* side, times& into) {
    for (int i = 0; i < group; ++i) {
      auto const opens = watch::now();
      bubble_id const id = side != nullptr ? side->open(stream_.get(), site{"host_calls"}) : bubble_id{};
      auto const opened = watch::now();
      trainer::wait_one_thread(stream_.get(), bubble_ns, nullptr);
      void* garbage = nullptr;
      if (inside_ == call::free) LULL_CUDA(cudaMalloc(&garbage, 4096));
      auto const calls = watch::now();
      switch (inside_) {
        case call::nothing:
          break;
        case call::stream_synchronise:
          LULL_CUDA(cudaStreamSynchronize(stream_.get()));
          break;
        case call::device_synchronise:
          LULL_CUDA(cudaDeviceSynchronize());
          break;
        case call::free:
          LULL_CUDA(cudaFree(garbage));
          break;
      }
      auto const called = watch::now();
      if (side != nullptr) side->close(id, stream_.get());
      auto const closed = watch::now();
      trainer::burst(stream_.get(), 132, 512, 2000, nullptr);
      into.host_us.push_back(std::chrono::duration<double, std::micro>{(opened - opens) + (closed - called)}.count());
      into.call_ms.push_back(std::chrono::duration<double, std::milli>{called - calls}.count());
    }
    LULL_CUDA(cudaStreamSynchronize(stream_.get()));
  }
  stream_handle stream() const { return stream_.get(); }

 private:
  call inside_;
  cuda_stream stream_{0};
};

void report(benchmark::State& state, std::string const& name, std::vector<double> const& values) {
  state.counters[name + "_p50"] = quantile(values, 0.5);
  state.counters[name + "_p99"] = quantile(values, 0.99);
  state.counters[name + "_max"] = quantile(values, 1);
}

void measure(benchmark::State& state, call inside, launch_time launch) {
  runtime side{{.executor = {.kind = executor_kind::cuda},
                .tasks = {bench::type_of(bench::work_kind::compute)},
                .log = bench::log_line,
                .tuning = {.launch = launch, .training_worth = 0}}};
  bench::endless_work const work{side, bench::work_kind::compute};
  trainer_host host{inside};
  bench::wait_until_ready(side, host.stream());
  for (auto _ : state) {
    trainer_host::times none;
    trainer_host::times with;
    trainer_host::times learning;
    for (int turn = 0; turn < turns + warm_up; ++turn) {
      host.turn(nullptr, turn < warm_up ? learning : none);
      if (turn == warm_up) side.take_bubbles();
      host.turn(&side, turn < warm_up ? learning : with);
      std::this_thread::sleep_for(10ms);  // what was learnt is read
    }
    std::uint64_t items = 0;
    std::uint64_t lease_blocks = 0;
    std::uint64_t bubbles = 0;
    for (bubble_report const& one : side.take_bubbles()) {
      items += one.record().items;
      lease_blocks += one.record().lease_blocks;
      ++bubbles;
    }
    report(state, "host", with.host_us);
    report(state, "call", with.call_ms);
    report(state, "call_none", none.call_ms);
    state.counters["n"] = static_cast<double>(with.host_us.size());
    state.counters["bubbles"] = static_cast<double>(bubbles);
    state.counters["items_a_bubble"] = static_cast<double>(items) / static_cast<double>(with.host_us.size());
    state.counters["lease_blocks"] = static_cast<double>(lease_blocks);
  }
}

constexpr std::pair<char const*, call> calls[] = {{"nothing", call::nothing},
                                                  {"stream_synchronise", call::stream_synchronise},
                                                  {"device_synchronise", call::device_synchronise},
                                                  {"free", call::free}};
constexpr std::pair<char const*, launch_time> launches[] = {{"at_close", launch_time::at_close},
                                                            {"at_open", launch_time::at_open}};

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  bench::program here{"host_calls",
                      "What a bubble costs the trainer's host. Plans are chosen by --benchmark_filter, listed by "
                      "--benchmark_list_tests."};
  int connections = 0;
  here.add_connections(connections);
  return here.run(argc, argv, [&] {
    bench::need_gpu();
    for (auto const& [inside_name, inside] : calls) {
      for (auto const& [launch_name, launch] : launches) {
        std::string const name = std::string{"host_calls/call:"} + inside_name + "/launch:" + launch_name;
        auto const run = [inside, launch](benchmark::State& state) { measure(state, inside, launch); };
        benchmark::RegisterBenchmark(name.c_str(), run)->Iterations(1)->Unit(benchmark::kMillisecond);
      }
    }
    benchmark::RunSpecifiedBenchmarks();
    return 0;
  });
}
