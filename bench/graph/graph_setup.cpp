// SPDX-License-Identifier: Apache-2.0
// How fast a graph task is ready: graph_setup/task:T/text:K/cores:C does on CPU threads what the program does before a
// job is submitted, from a text of 100 MB, with C of the machine's cores (0: all of them). graph_setup/part:P/cores:C
// times the reading alone, of a graph from such a text or of ratings. cpu_MB_per_s: the text's bytes by CPU time
// of all threads together ("a core"). anon_ratio: the most anonymous memory that the process takes meanwhile, over what
// is kept of it; kept_ratio: that over the text. Memory is taken in a run of its own, whose time does not count.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <lull/bench/graph/random_texts.hpp>
#include <lull/bench/graph/set_up_meter.hpp>
#include <lull/graph/betweenness/betweenness_owner.hpp>
#include <lull/graph/bfs/bfs_owner.hpp>
#include <lull/graph/components/components_owner.hpp>
#include <lull/graph/graph_sgd/graph_sgd_owner.hpp>
#include <lull/graph/graph_sgd/ratings.hpp>
#include <lull/graph/kcore/kcore_owner.hpp>
#include <lull/graph/load/load.hpp>
#include <lull/graph/pagerank/pagerank_owner.hpp>
#include <lull/graph/sssp/sssp_owner.hpp>
#include <lull/graph/triangles/triangles_owner.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace {

using namespace lull;

constexpr std::string_view graph_texts[] = {"el", "wel", "gr", "mtx"};
constexpr std::string_view rating_texts[] = {"csv"};

struct set_up {
  task_entry (*entry)();
  std::string_view option;                  // that names the file
  std::span<std::string_view const> kinds;  // of text
};

constexpr set_up set_ups[] = {
    {pagerank_entry, "graph", graph_texts},    {bfs_entry, "graph", graph_texts},
    {components_entry, "graph", graph_texts},  {sssp_entry, "graph", graph_texts},
    {triangles_entry, "graph", graph_texts},   {kcore_entry, "graph", graph_texts},
    {betweenness_entry, "graph", graph_texts}, {graph_sgd_entry, "ratings", rating_texts},
};

bench::random_texts const& texts() {
  static bench::random_texts const made;
  return made;
}

/// An owner that is ready, and the machine that its arrays are on.
struct ready_task {
  std::unique_ptr<lull::executor> executor;
  std::unique_ptr<task_owner> owner;
};

ready_task prepare(set_up const& what, std::string const& path) {
  task_entry const entry = what.entry();
  option_values values{entry.options};
  values.set(what.option, path);
  ready_task made{make_executor({.kind = executor_kind::threads}), entry.make(values)};
  made.owner->needs(executor_kind::threads);
  made.owner->prepare(*made.executor);
  return made;
}

/// `work` is given the text's path, and returns what it made.
template <class Work>
void measure(benchmark::State& state, std::string_view kind, unsigned cores, Work const& work) {
  std::string const path = texts().text(kind);
  std::uint64_t const bytes = std::filesystem::file_size(path);
  bench::core_limit const limit{cores == 0 ? ~0U : cores};
  {
    ::malloc_trim(0);  // what an earlier run left in the heap would be used again unseen
    std::uint64_t const before = bench::anonymous_bytes();
    bench::memory_watch watch;
    auto const made = work(path);  // warms up, too
    auto const most = static_cast<double>(watch.added_bytes());
    ::malloc_trim(0);
    auto const kept = static_cast<double>(bench::anonymous_bytes() - before);
    state.counters["anon_ratio"] = most / kept;
    state.counters["kept_ratio"] = kept / static_cast<double>(bytes);
  }
  double cpu_seconds = 0;
  for (auto _ : state) {
    double const cpu_before = bench::cpu_seconds();
    auto const before = std::chrono::steady_clock::now();
    auto const made = work(path);  // its end does not count
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
    cpu_seconds += bench::cpu_seconds() - cpu_before;
    benchmark::DoNotOptimize(&made);
  }
  auto const all = static_cast<double>(bytes) * static_cast<double>(state.iterations());
  state.counters["cpu_MB_per_s"] = all / 1e6 / cpu_seconds;
  state.SetBytesProcessed(static_cast<std::int64_t>(all));
}

void add(std::string const& name, auto const& run) {
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->Iterations(1)
      ->Repetitions(7)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  for (unsigned const cores : {1U, 0U}) {
    std::string const last = "/cores:" + std::to_string(cores) + "/";
    for (set_up const& what : set_ups) {
      for (std::string_view const kind : what.kinds) {
        add("graph_setup/task:" + std::string{what.entry().name} + "/text:" + std::string{kind} + last,
            [&what, kind, cores](benchmark::State& state) {
              measure(state, kind, cores, [&](std::string const& path) { return prepare(what, path); });
            });
      }
    }
    for (std::string_view const kind : graph_texts) {
      add("graph_setup/part:" + std::string{kind} + last, [kind, cores](benchmark::State& state) {
        measure(state, kind, cores, [](std::string const& path) { return load_graph(path); });
      });
    }
    add("graph_setup/part:read_ratings" + last, [cores](benchmark::State& state) {
      measure(state, "csv", cores, [](std::string const& path) { return read_ratings(path); });
    });
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
