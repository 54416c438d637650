// SPDX-License-Identifier: Apache-2.0
// How fast a graph is ready: graph_load/kind:K/threads:T reads a text of 100 MB (kind 0: .el, 1: .wel),
// graph_generate/scale:S/threads:T makes a Kronecker graph. Bytes a second are those of the text, by wall clock;
// cpu_MB_per_s the same by CPU time of all threads together ("a core"). anon_ratio: the most anonymous memory that the
// process held meanwhile, over the finished graph; taken in a run of its own, whose time does not count.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <filesystem>
#include <lull/bench/graph/random_texts.hpp>
#include <lull/bench/graph/set_up_meter.hpp>
#include <lull/graph/load/generate.hpp>
#include <lull/graph/load/load.hpp>

namespace {

using lull::bench::cpu_seconds;

/// The most anonymous memory while `make` runs, over the graph it returns.
template <class Make>
double anon_ratio(Make const& make) {
  lull::bench::memory_watch watch;
  auto const graph = make();
  return static_cast<double>(watch.added_bytes()) / static_cast<double>(graph.size_bytes());
}

void graph_load(benchmark::State& state) {
  static lull::bench::random_texts const texts;
  auto const path = texts.text(state.range(0) == 1 ? "wel" : "el");
  auto const size = std::filesystem::file_size(path);
  lull::load_options const options{.threads = static_cast<unsigned>(state.range(1))};
  state.counters["anon_ratio"] = anon_ratio([&] { return lull::load_graph(path, options); });  // warms up, too
  auto const begin = cpu_seconds();
  for (auto _ : state) {
    auto const graph = lull::load_graph(path, options);
    benchmark::DoNotOptimize(graph.targets.data());
  }
  auto const bytes = static_cast<double>(size) * static_cast<double>(state.iterations());
  state.counters["cpu_MB_per_s"] = bytes / 1e6 / (cpu_seconds() - begin);
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(graph_load)
    ->ArgNames({"kind", "threads"})
    ->ArgsProduct({{0, 1}, {1, 2}})
    ->Iterations(1)
    ->Repetitions(9)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

void graph_generate(benchmark::State& state) {
  lull::generate_options const options{.scale = static_cast<unsigned>(state.range(0)),
                                       .threads = static_cast<unsigned>(state.range(1))};
  for (auto _ : state) {
    auto const graph = lull::generate_kronecker(options);
    benchmark::DoNotOptimize(graph.targets.data());
    state.counters["edges"] = static_cast<double>(graph.edges());
  }
}
BENCHMARK(graph_generate)
    ->ArgNames({"scale", "threads"})
    ->Args({22, 2})
    ->Iterations(1)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
