// SPDX-License-Identifier: Apache-2.0
// How long the chunks of a graph task take, each timed on the machine: what a bubble's end may have to wait for.
//
//   graph_chunks TASK[:OPTION=VALUE,…] [RUNS [cuda|threads]]
//
// prints one JSON object: percentiles by nearest rank over all chunks of RUNS (5) uninterrupted runs, to 32 ns, and the
// longest chunk and `advance`; the same for the phases of each kind, by their number in the task's enumeration. A chunk
// has one barrier and two looks at the clock more than without this. The result is verified. On CPU threads a chunk
// also holds what the system let run instead.
#include <algorithm>
#include <cstring>
#include <iostream>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include <lull/apps/registry/registry.hpp>
#include <lull/bench/graph/timed_chunks.hpp>
#include <lull/bench/program.hpp>
#include <lull/graph/betweenness/betweenness.hpp>
#include <lull/graph/bfs/bfs.hpp>
#include <lull/graph/bfs/bfs_together.hpp>
#include <lull/graph/components/components.hpp>
#include <lull/graph/graph_sgd/graph_sgd.hpp>
#include <lull/graph/kcore/kcore.hpp>
#include <lull/graph/pagerank/pagerank.hpp>
#include <lull/graph/sssp/sssp.hpp>
#include <lull/graph/triangles/triangles.hpp>
#include <lull/host/array.hpp>
#include <lull/host/error.hpp>
#include <lull/host/executor.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/host/task/task_request.hpp>

namespace {

using namespace lull;
using bench::chunk_times;
using json = nlohmann::ordered_json;

/// The same job with timed chunks, if it is of this task.
template <class Task>
void time_as(job_description const& what, chunk_times* times, std::optional<job_description>& timed) {
  if (what.type.threads.resident != threads_worker<Task>().resident) return;
  bench::timed_chunks<Task> work{{}, times};
  std::memcpy(static_cast<void*>(&work.task), what.functor.bytes, sizeof work.task);
  timed = lull::describe(work, what.name);
  timed->grain = what.grain;
  timed->blocks_per_processor = what.blocks_per_processor;
}

template <class... Tasks>
job_description time_as_one_of(job_description const& what, chunk_times* times) {
  std::optional<job_description> timed;
  (time_as<Tasks>(what, times, timed), ...);
  if (!timed) throw usage_error{"'" + what.name + "' is no graph task, or graph_sgd without 32 factors"};
  return *timed;
}

/// Each is listed in CMakeLists.txt, too.
constexpr auto timed =
    &time_as_one_of<betweenness, bfs, bfs_together, components, graph_sgd<32>, kcore, pagerank, sssp, triangles>;

/// Nearest rank, µs: the end of the bucket that holds it, or the longest where that is less.
double percentile_us(bench::chunk_lengths const& of, std::uint64_t chunks, double share) {
  auto const wanted = static_cast<std::uint64_t>(share * static_cast<double>(chunks) + 0.999999);
  std::uint64_t before = 0;
  for (std::size_t bucket = 0; bucket + 1 < of.buckets; ++bucket) {
    before += of.count[bucket];
    if (before < wanted) continue;
    return static_cast<double>(std::min((bucket + 1) * of.width_ns, of.max_ns)) / 1e3;
  }
  return static_cast<double>(of.max_ns) / 1e3;
}

/// The chunks of all phases.
bench::chunk_lengths all_of(chunk_times const& times) {
  bench::chunk_lengths made{};
  for (bench::chunk_lengths const& each : times.of) {
    made.sum_ns += each.sum_ns;
    made.max_ns = std::max(made.max_ns, each.max_ns);
    for (std::size_t bucket = 0; bucket < made.buckets; ++bucket) made.count[bucket] += each.count[bucket];
  }
  return made;
}

json told(bench::chunk_lengths const& of) {
  std::uint64_t const chunks = std::accumulate(std::begin(of.count), std::end(of.count), std::uint64_t{0});
  auto const count = static_cast<double>(std::max<std::uint64_t>(chunks, 1));
  return {{"chunks", chunks},
          {"chunk_us_mean", static_cast<double>(of.sum_ns) / 1e3 / count},
          {"chunk_us_p50", percentile_us(of, chunks, 0.5)},
          {"chunk_us_p99", percentile_us(of, chunks, 0.99)},
          {"chunk_us_p999", percentile_us(of, chunks, 0.999)},
          {"chunk_us_max", static_cast<double>(of.max_ns) / 1e3}};
}

void measure(std::string const& request, int runs, executor_kind kind) {
  task_request const asked = parse_task(request, known_tasks(), library_task);
  auto const executor = make_executor({.kind = kind, .reserved_groups = 0, .solo = true});
  executor->adopt_thread();
  std::unique_ptr<task_owner> const owner = entry_of(asked).make(asked.values);
  owner->prepare(*executor);
  device_array<chunk_times> const times{*executor, 1};
  job_description const what = timed(owner->describe(), times.data());
  solo_run last;
  for (int run = 0; run <= runs; ++run) {
    owner->reset();
    last = run_to_end(what, *executor);
    if (!last.finished) throw std::runtime_error{"the job did not finish"};
    if (run == 0) executor->fill_zero(times.data(), times.bytes());  // that one warms up
  }
  verification const verdict = owner->verify();
  if (!verdict.ok) throw std::runtime_error{"wrong result: " + verdict.message};
  auto const found = std::make_unique<chunk_times>();
  executor->read(found.get(), times.data(), times.bytes());
  json made{{"task", request}, {"runs", runs}, {"phases", last.phases}};
  made.update(told(all_of(*found)));
  made["advance_us_max"] = static_cast<double>(found->max_advance_ns) / 1e3;
  made["of_phases"] = json::object();
  for (std::uint32_t kind = 0; kind < chunk_times::kinds; ++kind) {
    if (found->of[kind].max_ns != 0) made["of_phases"][std::to_string(kind)] = told(found->of[kind]);
  }
  std::cout << made.dump() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  std::string task;
  int runs = 5;
  std::string on = "cuda";
  bench::program here{"graph_chunks", "How long the chunks of a graph task take, each timed on the machine"};
  here.app.add_option("task", task, "TASK[:OPTION=VALUE,...]")->required();
  here.app.add_option("runs", runs, "uninterrupted ones")->check(CLI::Range(1, 10'000));
  here.app.add_option("executor", on)->check(CLI::IsMember({"cuda", "threads"}));
  return here.run(argc, argv, [&] {
    if (on == "cuda") bench::need_gpu();
    measure(task, runs, on == "cuda" ? executor_kind::cuda : executor_kind::threads);
    return 0;
  });
}
