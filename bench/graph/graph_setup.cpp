// SPDX-License-Identifier: Apache-2.0
// How fast a graph task is ready: graph_setup/task:T/text:K/cores:C does on CPU threads what the program does before a
// job is submitted, from a text of 100 MB, with C of the machine's cores (0: all of them). graph_setup/part:P/cores:C
// times its parts, each over what the parts before it made of such a text. cpu_MB_per_s: the text's bytes by CPU time
// of all threads together ("a core"). anon_ratio: the most anonymous memory that the process takes meanwhile, over what
// is kept of it; kept_ratio: that over the text. Memory is taken in a run of its own, whose time does not count.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <lull/bench/graph/random_texts.hpp>
#include <lull/bench/graph/set_up_meter.hpp>
#include <lull/graph/betweenness/betweenness_owner.hpp>
#include <lull/graph/bfs/bfs_owner.hpp>
#include <lull/graph/components/components_owner.hpp>
#include <lull/graph/csr/machine_csr.hpp>
#include <lull/graph/csr/oriented.hpp>
#include <lull/graph/csr/symmetric.hpp>
#include <lull/graph/csr/transpose.hpp>
#include <lull/graph/graph_sgd/graph_sgd_owner.hpp>
#include <lull/graph/graph_sgd/rating_blocks.hpp>
#include <lull/graph/graph_sgd/ratings.hpp>
#include <lull/graph/kcore/kcore_owner.hpp>
#include <lull/graph/load/load.hpp>
#include <lull/graph/pagerank/pagerank_owner.hpp>
#include <lull/graph/sssp/sssp_owner.hpp>
#include <lull/graph/triangles/triangles.hpp>
#include <lull/graph/triangles/triangles_owner.hpp>
#include <lull/graph/triangles/triangles_plan.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace lull;

struct set_up {
  task_entry (*entry)();
  std::string_view option;              // that names the file
  std::vector<std::string_view> kinds;  // of text
};

std::vector<set_up> const& set_ups() {
  static std::vector<std::string_view> const graphs{"el", "wel", "gr", "mtx"};
  static std::vector<set_up> const all{{pagerank_entry, "graph", graphs},    {bfs_entry, "graph", graphs},
                                       {components_entry, "graph", graphs},  {sssp_entry, "graph", graphs},
                                       {triangles_entry, "graph", graphs},   {kcore_entry, "graph", graphs},
                                       {betweenness_entry, "graph", graphs}, {graph_sgd_entry, "ratings", {"csv"}}};
  return all;
}

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

/// `work` returns what it made. `bytes` are the text's.
template <class Work>
void measure(benchmark::State& state, std::uint64_t bytes, unsigned cores, Work const& work) {
  bench::core_limit const limit{cores == 0 ? ~0U : cores};
  {
    ::malloc_trim(0);  // what an earlier run left in the heap would be used again unseen
    std::uint64_t const before = bench::anonymous_bytes();
    bench::memory_watch watch;
    auto const made = work();  // warms up, too
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
    auto const made = work();  // its end does not count
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
    cpu_seconds += bench::cpu_seconds() - cpu_before;
    benchmark::DoNotOptimize(&made);
  }
  auto const all = static_cast<double>(bytes) * static_cast<double>(state.iterations());
  state.counters["cpu_MB_per_s"] = all / 1e6 / cpu_seconds;
  state.SetBytesProcessed(static_cast<std::int64_t>(all));
}

/// Inputs of the parts, made when they are first asked for.
template <class Make>
auto const& once(Make const& make) {
  static auto const made = make();
  return made;
}
csr const& directed() {
  return once([] { return load_graph(texts().text("el")); });
}
csr const& symmetric() {
  return once([] { return load_graph(texts().text("mtx")); });
}
csr const& oriented() {
  return once([] { return orient(directed()).rows; });
}
ratings const& rated() {
  return once([] { return read_ratings(texts().text("csv")); });
}

struct part {
  std::string_view name;
  std::string_view kind;         // of text
  std::function<void()> inputs;  // makes them
  std::function<std::shared_ptr<void>()> work;
};

template <class Work>
std::function<std::shared_ptr<void>()> keeping(Work const& work) {
  return [work] { return std::make_shared<decltype(work())>(work()); };
}

std::vector<part> parts() {
  auto const nothing = [] {};
  auto const from_edges = [] { directed(); };
  std::vector<part> all;
  for (std::string_view const kind : {"el", "wel", "gr", "mtx"}) {
    all.push_back({kind, kind, nothing, keeping([kind] { return load_graph(texts().text(kind)); })});
  }
  all.push_back({"transpose", "el", from_edges, keeping([] { return transpose(directed()); })});
  all.push_back({"is_symmetric", "mtx", [] { symmetric(); }, keeping([] { return is_symmetric(symmetric()); })});
  all.push_back({"orient", "el", from_edges, keeping([] { return orient(directed()); })});
  all.push_back({"plan_triangles", "el", [] { oriented(); }, keeping([] {
                   return plan_triangles(
                       oriented(),
                       {.lookups = triangles::max_lookups, .pairs = triangles::max_pairs, .list = triangles::max_list});
                 })});
  all.push_back({"read_ratings", "csv", nothing, keeping([] { return read_ratings(texts().text("csv")); })});
  all.push_back({"rating_blocks", "csv", [] { rated(); },
                 keeping([] { return make_rating_blocks(rated(), suitable_groups(spread_of(rated()))); })});
  return all;
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
    for (set_up const& what : set_ups()) {
      for (std::string_view const kind : what.kinds) {
        add("graph_setup/task:" + std::string{what.entry().name} + "/text:" + std::string{kind} + last,
            [&what, kind, cores](benchmark::State& state) {
              std::string const path = texts().text(kind);
              measure(state, std::filesystem::file_size(path), cores, [&] { return prepare(what, path); });
            });
      }
    }
    for (part const& one : parts()) {
      add("graph_setup/part:" + std::string{one.name} + last, [one, cores](benchmark::State& state) {
        one.inputs();
        measure(state, std::filesystem::file_size(texts().text(one.kind)), cores, one.work);
      });
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
