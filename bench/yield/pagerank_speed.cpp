// SPDX-License-Identifier: Apache-2.0
// PageRank uninterrupted: the worker in one long bubble on all SMs, against plain kernels, one a phase, over the same
// items. pagerank_speed [SCALE [SWEEPS [PAIRS [GRAIN [INSTANCE]]]]] prints one JSON object an instance: the shipped
// one, or one of the table below by its name, or all of them.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <lull/bench/guarded.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/graph/pagerank/pagerank_arrays.hpp>
#include <lull/host/cuda/owned.hpp>
#include <lull/host/measure/cuda/kernels.hpp>
#include <lull/host/measure/plain_kernels.hpp>
#include <lull/host/measure/statistics.hpp>
#include <lull/host/runtime.hpp>

namespace {

using namespace lull;
using namespace std::chrono_literals;

/// Milliseconds of all sweeps as plain kernels: every phase's items are asked for in the first two rounds, then nothing
/// waits. With `each`, (steps,), those of each phase's kernel alone go there; the whole is then longer.
double plain_ms(executor& executor, job_description const& what, std::uint64_t sweeps,
                std::vector<double>* each = nullptr) {
  auto* const stream = static_cast<cudaStream_t>(executor.own_stream());
  auto const kernels = make_plain_kernels(executor, what.type.cuda);
  mapped_memory const word = executor.map(sizeof(std::uint64_t));
  std::uint32_t const steps = what.type.cuda.shape.steps;
  cuda_event begin;
  cuda_event end;
  std::vector<cuda_event> before(steps);
  std::vector<cuda_event> behind(steps);
  std::vector<std::uint64_t> items(steps);
  std::optional<position> ended;
  // round 0 lays the first ranks and round 1 is the first sweep; the sweeps after those two are timed
  for (std::uint64_t round = 0; round < sweeps + 2; ++round) {
    if (round == 2) LULL_CUDA(cudaEventRecord(begin.get(), stream));
    for (std::uint32_t step = 0; step < steps; ++step) {
      position const at{round, step};
      kernels->between(what.functor, ended, at, round < 2 ? word : mapped_memory{});
      if (round < 2) {
        executor.synchronize(stream);
        items[step] = executor.load_mapped(word.host);
      }
      if (each != nullptr) LULL_CUDA(cudaEventRecord(before[step].get(), stream));
      kernels->phase(what.functor, {at, 0, items[step]}, what.grain);
      if (each != nullptr) LULL_CUDA(cudaEventRecord(behind[step].get(), stream));
      ended = at;
    }
    if (each == nullptr || round < 2) continue;
    executor.synchronize(stream);
    for (std::uint32_t step = 0; step < steps; ++step) {
      float ms = 0;
      LULL_CUDA(cudaEventElapsedTime(&ms, before[step].get(), behind[step].get()));
      (*each)[step] += static_cast<double>(ms);
    }
  }
  LULL_CUDA(cudaEventRecord(end.get(), stream));
  executor.synchronize(stream);
  float ms = 0;
  LULL_CUDA(cudaEventElapsedTime(&ms, begin.get(), end.get()));
  executor.unmap(word, sizeof(std::uint64_t));
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
      if (one.record().blocks != 0) return static_cast<double>(one.record().last_out_ns - one.record().opened_ns) / 1e6;
    }
    std::this_thread::sleep_for(1ms);
  }
  return 0;
}

struct arguments {
  std::string scale = "22";
  std::uint64_t sweeps = 200;
  int pairs = 5;
  std::uint32_t grain = 1;
};

template <class Task>
void measure(std::string_view name, csr const& graph, arguments const& given) {
  runtime side{
      {.executor = {.kind = executor_kind::cuda, .reserved_groups = 0, .solo = true}, .tasks = {type_of<Task>()}}};
  pagerank_arrays<Task> arrays{executor_of(side), graph, {.tolerance = 1e-30, .sweeps = given.sweeps}};
  job_description what = describe(arrays.task(), "pagerank");
  what.grain = given.grain;
  cuda_stream stream{0};
  auto const sweeps = static_cast<double>(given.sweeps);
  std::vector<double> plain;
  std::vector<double> worker;
  for (int pair = 0; pair <= given.pairs; ++pair) {  // the first pair warms up
    arrays.reset();
    double const by_kernels = plain_ms(executor_of(side), what, given.sweeps);
    arrays.reset();
    double const by_worker = worker_ms(side, stream.get(), what);
    if (pair == 0) continue;
    plain.push_back(by_kernels / sweeps);
    worker.push_back(by_worker / sweeps);
  }
  arrays.reset();
  std::vector<double> phase(Task::shape.steps);
  plain_ms(executor_of(side), what, given.sweeps, &phase);
  double const plain_p50 = quantile(plain, 0.5);
  double const worker_p50 = quantile(worker, 0.5);
  std::printf(
      "{\"kronecker\": %s, \"sweeps\": %llu, \"pairs\": %d, \"blocks\": %llu, \"plain_ms_per_sweep\": %.5f, "
      "\"worker_ms_per_sweep\": %.5f, "
      "\"plain_min\": %.5f, \"plain_max\": %.5f, \"worker_min\": %.5f, \"worker_max\": %.5f, \"speed_ratio\": %.4f, "
      "\"plain_gather_ms\": %.5f, \"plain_combine_ms\": %.5f, \"plain_settle_ms\": %.5f, \"plain_fold_ms\": %.5f, "
      "\"instance\": \"%s\", \"tile\": %u, \"threads\": %d, \"blocks_per_sm\": %d}\n",
      given.scale.c_str(), static_cast<unsigned long long>(given.sweeps), given.pairs,
      static_cast<unsigned long long>(executor_of(side).load(what.type.cuda, 0).blocks), plain_p50, worker_p50,
      quantile(plain, 0), quantile(plain, 1), quantile(worker, 0), quantile(worker, 1), plain_p50 / worker_p50,
      phase[Task::gather_step] / sweeps, phase[Task::combine_step] / sweeps, phase[Task::settle_step] / sweeps,
      phase[Task::fold_step] / sweeps, std::string{name}.c_str(), Task::tile, Task::shape.threads,
      Task::shape.blocks_per_sm);
  std::fflush(stdout);
}

struct instance {
  std::string_view name;  // tile, block, threads, blocks an SM
  void (*measure)(std::string_view name, csr const& graph, arguments const& given);
};

/// Those beside the shipped one are made in CMakeLists.txt.
constexpr instance instances[] = {
    {"shipped", &measure<pagerank>},
    {"2048-1024-256-6", &measure<basic_pagerank<2048, 1024, 256, 6>>},
    {"1024-1024-256-4", &measure<basic_pagerank<1024, 1024, 256, 4>>},
    {"1024-1024-256-6", &measure<basic_pagerank<1024, 1024, 256, 6>>},
    {"1024-1024-128-4", &measure<basic_pagerank<1024, 1024, 128, 4>>},
    {"1024-1024-128-6", &measure<basic_pagerank<1024, 1024, 128, 6>>},
    {"1024-1024-128-8", &measure<basic_pagerank<1024, 1024, 128, 8>>},
    {"512-1024-128-8", &measure<basic_pagerank<512, 1024, 128, 8>>},
};

}  // namespace

int main(int argc, char** argv) {
  return bench::guarded("pagerank_speed", [&] {
    bench::need_gpu();
    arguments given;
    if (argc > 1) given.scale = argv[1];
    if (argc > 2) given.sweeps = std::strtoull(argv[2], nullptr, 10);
    if (argc > 3) given.pairs = std::atoi(argv[3]);
    if (argc > 4) given.grain = static_cast<std::uint32_t>(std::strtoul(argv[4], nullptr, 10));
    std::string_view const wanted = argc > 5 ? argv[5] : "shipped";
    auto const is_wanted = [&](instance const& one) { return wanted == "all" || wanted == one.name; };
    if (std::none_of(std::begin(instances), std::end(instances), is_wanted)) {
      std::fprintf(stderr, "pagerank_speed: no instance %s; there are:", argv[5]);
      for (instance const& one : instances) std::fprintf(stderr, " %s", one.name.data());
      std::fprintf(stderr, " all\n");
      return 2;
    }
    trainer::load();
    csr const graph =
        generate_kronecker({.scale = static_cast<unsigned>(std::strtoul(given.scale.c_str(), nullptr, 10)), .seed = 1});
    for (instance const& one : instances) {
      if (is_wanted(one)) one.measure(one.name, graph, given);
    }
    return 0;
  });
}
