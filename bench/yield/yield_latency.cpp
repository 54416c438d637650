// SPDX-License-Identifier: Apache-2.0
// What a bubble costs the training stream, and how fast a worker comes and goes. Device stamps throughout; the three treatments
// (no Lull, edges alone, edges and worker) take turns in one process. Figures are counters in microseconds.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <lull/bench/yield/bubbles.hpp>
#include <lull/graph/pagerank_owner.hpp>
#include <lull/host/array.hpp>
#include <lull/tasks/synthetic.hpp>

namespace {

using namespace lull;

struct options {
  int rooms = 2;
  std::uint32_t fma = 32;  // 0.13 µs with 1024 threads on an SM
  launch_time launch = launch_time::at_close;
  std::optional<landing> lands = {};
};

enum class work { compute, streaming, pagerank };

struct plan {
  std::string name;
  bench::setting how;
  work task = work::compute;
  options with;
};

/// The side task of a plan, with what it works on.
class side_work {
 public:
  side_work(runtime& side, plan const& what) : machine_(side.machine()) {
    constexpr std::uint64_t endless = std::uint64_t{1} << 38;
    constexpr std::uint64_t tiles = std::uint64_t{1} << 16;  // 1 GiB an array, far beyond the L2
    switch (what.task) {
      case work::compute:
        from_ = machine_array<float>{machine_, 1};
        description_ = describe(compute_task{from_.data(), endless, 1, what.with.fma});
        break;
      case work::streaming:
        from_ = machine_array<float>{machine_, tiles * streaming_task::tile};
        to_ = machine_array<float>{machine_, tiles * streaming_task::tile};
        trainer::fill_random_bf16(nullptr, from_.data(), from_.size() * 2, 7);
        description_ = describe(streaming_task{from_.data(), to_.data(), tiles, endless});
        break;
      case work::pagerank: {
        task_entry const entry = pagerank_entry();
        option_values values{entry.options};
        values.set("kronecker", "22");
        values.set("sweeps", "1000000");
        values.set("tolerance", "1e-30");
        owner_ = entry.make(values);
        owner_->prepare(machine_);
        description_ = owner_->describe();
        break;
      }
    }
    job_ = side.submit(description_);
  }
  ~side_work() {
    job_.cancel();
    job_.wait(std::chrono::seconds{10});
  }
  side_work(side_work const&) = delete;
  side_work& operator=(side_work const&) = delete;

  std::uint64_t blocks() const { return machine_.blocks_of(description_.type.cuda); }

 private:
  executor& machine_;
  machine_array<float> from_;
  machine_array<float> to_;
  std::unique_ptr<task_owner> owner_;
  job_description description_;
  job job_;
};

double at(std::vector<double> const& values, double p) { return bench::percentile(values, p); }

void report(benchmark::State& state, std::string const& name, std::vector<double> const& values) {
  if (values.empty()) return;
  state.counters[name + "_p50"] = at(values, 0.5);
  state.counters[name + "_p99"] = at(values, 0.99);
  state.counters[name + "_p999"] = at(values, 0.999);
  state.counters[name + "_max"] = at(values, 1);
}

void measure(benchmark::State& state, plan const& what) {
  runtime_options on{.machine = {.kind = executor_kind::cuda, .rooms = what.with.rooms},
                     .mode = runtime_mode::on,
                     .launch = what.with.launch,
                     .lands = what.with.lands,
                     .tasks = {type_of<compute_task>(), type_of<streaming_task>()},
                     .log = [](std::string_view line) { fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data()); }};
  runtime side{on};
  side_work const task{side, what};
  for (auto _ : state) {
    auto const found = bench::bubble_bench{}.run(what.how, side);
    auto const& none = found[0];
    auto const& edges = found[1];
    auto const& worker = found[2];
    report(state, "drain", worker.drain);
    report(state, "start", worker.start);
    report(state, "saw", worker.saw);
    report(state, "period", worker.period);
    report(state, "whole_none", none.whole);
    report(state, "whole_edges", edges.whole);
    report(state, "first_edges", edges.first);
    report(state, "whole_worker", worker.whole);
    report(state, "first_none", none.first);
    report(state, "first_worker", worker.first);
    report(state, "arrival_none", none.delay);
    report(state, "arrival_worker", worker.delay);
    report(state, "host", worker.host);
    state.counters["price_edges_p50"] = at(edges.whole, 0.5) - at(none.whole, 0.5);
    state.counters["price_p50"] = at(worker.whole, 0.5) - at(none.whole, 0.5);
    state.counters["price_p99"] = at(worker.whole, 0.99) - at(none.whole, 0.5);
    state.counters["price_of_worker_p50"] = at(worker.whole, 0.5) - at(edges.whole, 0.5);
    state.counters["n"] = static_cast<double>(worker.whole.size());
    state.counters["lease_blocks"] = static_cast<double>(worker.lease_blocks);
    state.counters["dropped"] = static_cast<double>(worker.dropped);
    state.counters["blocks"] = static_cast<double>(task.blocks());
  }
}

std::vector<plan> plans() {
  using bench::arrival;
  using bench::behind;
  std::vector<plan> all;
  for (auto const& [behind_name, kind] : {std::pair{"burst_132", behind::burst_132}, {"burst_264", behind::burst_264}, {"cublas_2048", behind::cublas_2048}}) {
    all.push_back({std::string{"yield_latency/task:compute/behind:"} + behind_name, {.training = kind}, work::compute, {}});
    all.push_back({std::string{"yield_latency/task:streaming/behind:"} + behind_name, {.training = kind}, work::streaming, {}});
    all.push_back({std::string{"yield_latency/task:pagerank/behind:"} + behind_name, {.training = kind}, work::pagerank, {}});
  }
  for (auto const& [arrival_name, kind] : {std::pair{"one_thread", arrival::one_thread}, {"blocks_132", arrival::blocks_132}, {"nccl_shape", arrival::nccl_shape}}) {
    all.push_back({std::string{"yield_latency/task:compute/arrival:"} + arrival_name, {.comes = kind, .bubbles = 500}, work::compute, {}});
  }
  for (auto const& [landing_name, how] : {std::pair{"none", landing::none}, {"gap", landing::gap}, {"join", landing::join}}) {
    all.push_back({std::string{"yield_latency/task:compute/behind:burst_264/landing:"} + landing_name, {.training = behind::burst_264}, work::compute, {.lands = how}});
    all.push_back({std::string{"yield_latency/task:streaming/behind:burst_264/landing:"} + landing_name, {.training = behind::burst_264}, work::streaming, {.lands = how}});
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (std::string const why = lull::why_no_cuda(0); !why.empty()) {
    fprintf(stderr, "yield_latency: NOT RUN: %s\n", why.c_str());
    return 2;
  }
  for (plan const& each : plans()) {
    benchmark::RegisterBenchmark(each.name.c_str(), [each](benchmark::State& state) { measure(state, each); })->Iterations(1)->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
