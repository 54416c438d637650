// SPDX-License-Identifier: Apache-2.0
// PageRank uninterrupted: the worker in one long bubble on all SMs, against plain kernels, one a phase, over the same items.
// pagerank_speed [SCALE [SWEEPS [PAIRS [GRAIN]]]] prints one JSON object.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <lull/bench/trainer/kernels.hpp>
#include <lull/bench/yield/bubbles.hpp>
#include <lull/graph/pagerank_owner.hpp>
#include <lull/host/cuda/owned.hpp>

namespace {

using namespace lull;
using namespace std::chrono_literals;

/// Milliseconds of all sweeps as plain kernels: every phase's items are asked for in the first two rounds, then nothing waits.
double plain_ms(executor& machine, job_description const& what, std::uint64_t sweeps) {
  auto* const stream = static_cast<cudaStream_t>(machine.plain_stream());
  mapped_memory const word = machine.map(sizeof(std::uint64_t));
  std::uint32_t const steps = what.type.cuda.shape.steps;
  cuda_event begin;
  cuda_event end;
  std::vector<std::uint64_t> items(steps);
  std::optional<position> ended;
  // round 0 lays the first ranks and round 1 is the first sweep; the sweeps after those two are timed
  for (std::uint64_t round = 0; round < sweeps + 2; ++round) {
    if (round == 2) LULL_CUDA(cudaEventRecord(begin.get(), stream));
    for (std::uint32_t step = 0; step < steps; ++step) {
      position const at{round, step};
      machine.plain_between(stream, what.type.cuda, what.functor, ended, at, round < 2 ? word : mapped_memory{});
      if (round < 2) {
        machine.synchronize(stream);
        items[step] = machine.load_mapped(word.host);
      }
      machine.plain_phase(stream, what.type.cuda, what.functor, {at, 0, items[step]}, what.grain);
      ended = at;
    }
  }
  LULL_CUDA(cudaEventRecord(end.get(), stream));
  machine.synchronize(stream);
  float ms = 0;
  LULL_CUDA(cudaEventElapsedTime(&ms, begin.get(), end.get()));
  machine.unmap(word, sizeof(std::uint64_t));
  return static_cast<double>(ms);
}

/// Milliseconds of the worker's stay in one bubble in which it does all sweeps.
double worker_ms(runtime& side, cudaStream_t stream, job_description const& what) {
  side.take_bubbles();
  job const task = side.submit(what);
  while (!side.ready(stream)) std::this_thread::yield();
  {
    bubble const idle{side, stream, site{"run"}};
    trainer::wait_one_thread(stream, 1'500'000'000, nullptr);
  }
  LULL_CUDA(cudaStreamSynchronize(stream));
  if (!task.wait(20s)) return 0;
  for (int i = 0; i < 1000; ++i) {
    for (bubble_report const& one : side.take_bubbles()) {
      if (one.record.blocks != 0) return static_cast<double>(one.record.last_out_ns - one.record.opened_ns) / 1e6;
    }
    std::this_thread::sleep_for(1ms);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (std::string const why = why_no_cuda(0); !why.empty()) {
    std::fprintf(stderr, "pagerank_speed: NOT RUN: %s\n", why.c_str());
    return 2;
  }
  std::string const scale = argc > 1 ? argv[1] : "22";
  std::uint64_t const sweeps = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 200;
  int const pairs = argc > 3 ? std::atoi(argv[3]) : 5;
  trainer::load();
  runtime side{{.machine = {.kind = executor_kind::cuda, .rooms = 0}, .tasks = {pagerank_entry().type()}}};
  task_entry const entry = pagerank_entry();
  option_values values{entry.options};
  values.set("kronecker", scale);
  values.set("sweeps", std::to_string(sweeps));
  values.set("tolerance", "1e-30");
  if (argc > 4) values.set("grain", argv[4]);
  auto const owner = entry.make(values);
  owner->prepare(side.machine());
  cuda_stream stream{0};
  std::vector<double> plain;
  std::vector<double> worker;
  for (int pair = 0; pair <= pairs; ++pair) {  // the first pair warms up
    owner->reset();
    double const by_kernels = plain_ms(side.machine(), owner->describe(), sweeps);
    owner->reset();
    double const by_worker = worker_ms(side, stream.get(), owner->describe());
    if (pair == 0) continue;
    plain.push_back(by_kernels / static_cast<double>(sweeps));
    worker.push_back(by_worker / static_cast<double>(sweeps));
  }
  double const plain_p50 = bench::percentile(plain, 0.5);
  double const worker_p50 = bench::percentile(worker, 0.5);
  std::printf("{\"kronecker\": %s, \"sweeps\": %llu, \"pairs\": %d, \"blocks\": %llu, \"plain_ms_per_sweep\": %.5f, \"worker_ms_per_sweep\": %.5f, "
              "\"plain_min\": %.5f, \"plain_max\": %.5f, \"worker_min\": %.5f, \"worker_max\": %.5f, \"speed_ratio\": %.4f}\n",
              scale.c_str(), static_cast<unsigned long long>(sweeps), pairs,
              static_cast<unsigned long long>(side.machine().blocks_of(entry.type().cuda)), plain_p50, worker_p50, bench::percentile(plain, 0),
              bench::percentile(plain, 1), bench::percentile(worker, 0), bench::percentile(worker, 1), plain_p50 / worker_p50);
}
