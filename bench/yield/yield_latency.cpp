// SPDX-License-Identifier: Apache-2.0
// What a bubble costs the training stream, and how fast a worker comes and goes. Device stamps throughout; the three
// treatments (no Lull, edges alone, edges and worker) take turns in one process. Figures are counters in microseconds.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include <lull/bench/program.hpp>
#include <lull/bench/side_work/endless_work.hpp>
#include <lull/bench/yield/bubbles.hpp>
#include <lull/host/measure/statistics.hpp>

namespace {

using namespace lull;

/// What every plan is run with.
struct options {
  bool others = false;  // graphs hold workers of further task types
  int bubbles = 0;      // of each treatment; 0: as the plan says
  bench::work_settings work;
};

struct plan {
  std::string name;
  bench::setting how;
  bench::work_kind task = bench::work_kind::compute;
  std::optional<closing> close = {};
  bool captured = false;
};

double at(std::vector<double> const& values, double p) { return quantile(values, p); }

/// A percentile and the order statistics between which that of the whole distribution lies with 95 %.
struct bounded {
  double value;
  double low;
  double high;

  bounded(std::vector<double> const& values, double p) : value(at(values, p)) {
    double const beside = 1.96 * std::sqrt(p * (1 - p) / static_cast<double>(values.size()));
    low = at(values, std::max(0.0, p - beside));
    high = at(values, std::min(1.0, p + beside));
  }
  /// The differences that the two intervals allow.
  bounded(bounded const& of, bounded const& less)
      : value(of.value - less.value), low(of.low - less.high), high(of.high - less.low) {}
};

void report(benchmark::State& state, std::string const& name, bounded const& figure) {
  state.counters[name] = figure.value;
  state.counters[name + "_low"] = figure.low;
  state.counters[name + "_high"] = figure.high;
}

void report(benchmark::State& state, std::string const& name, std::vector<double> const& values) {
  if (values.empty()) return;
  report(state, name + "_p50", bounded{values, 0.5});
  report(state, name + "_p99", bounded{values, 0.99});
  state.counters[name + "_p999"] = at(values, 0.999);
  state.counters[name + "_max"] = at(values, 1);
}

/// What captured graphs hold workers of.
std::vector<task_type> types_of(bench::work_kind task, options const& with) {
  using bench::work_kind;
  if (!with.others) return {bench::type_of(task, with.work)};
  return {bench::type_of(work_kind::compute), bench::type_of(work_kind::streaming),
          bench::type_of(work_kind::pagerank)};
}

void measure(benchmark::State& state, plan const& what, options const& with) {
  runtime_options on{.executor = {.kind = executor_kind::cuda, .reserved_groups = 2},
                     .mode = runtime_mode::on,
                     .tasks = types_of(what.task, with),
                     .log = bench::log_line,
                     .tuning = {.training_worth = 0, .close = what.close}};
  runtime side{on};
  bench::endless_work const task{side, what.task, with.work};
  for (auto _ : state) {
    bench::setting how = what.how;
    if (with.bubbles != 0) how.bubbles = with.bubbles;
    auto const found = what.captured ? bench::measure_captured(how, side) : bench::measure_bubbles(how, side);
    auto const& none = found[0];
    auto const& edges = found[1];
    auto const& worker = found[2];
    report(state, "drain", worker.drain);
    report(state, "start", worker.start);
    report(state, "saw", worker.saw);
    report(state, "out", worker.out);
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
    bounded const whole_none{none.whole, 0.5};
    bounded const whole_edges{edges.whole, 0.5};
    bounded const whole_worker{worker.whole, 0.5};
    report(state, "price_edges_p50", bounded{whole_edges, whole_none});
    report(state, "price_p50", bounded{whole_worker, whole_none});
    report(state, "price_p99", bounded{bounded{worker.whole, 0.99}, whole_none});
    report(state, "price_of_worker_p50", bounded{whole_worker, whole_edges});
    state.counters["n"] = static_cast<double>(worker.whole.size());
    state.counters["lease_blocks"] = static_cast<double>(worker.lease_blocks);
    state.counters["dropped"] = static_cast<double>(worker.dropped);
    state.counters["blocks"] = static_cast<double>(task.blocks());
  }
}

std::vector<plan> plans() {
  using bench::arrival;
  using bench::behind;
  using std::chrono::nanoseconds;
  std::vector<plan> all;
  std::pair<char const*, behind> const training[] = {
      {"burst_132", behind::burst_132}, {"burst_264", behind::burst_264}, {"cublas_2048", behind::cublas_2048}};
  std::pair<char const*, arrival> const arrivals[] = {
      {"one_thread", arrival::one_thread}, {"blocks_132", arrival::blocks_132}, {"nccl_shape", arrival::nccl_shape}};
  std::pair<char const*, closing> const closings[] = {{"at_once", {}},
                                                      {"500ns_later", {.longer = nanoseconds{500}}},
                                                      {"1000ns_later", {.longer = nanoseconds{1'000}}},
                                                      {"2000ns_later", {.longer = nanoseconds{2'000}}},
                                                      {"waited", {.waits = true}}};
  for (auto const& [task_name, task] : bench::work_kinds()) {
    std::string const name = "yield_latency/task:" + task_name;
    for (auto const& [behind_name, kind] : training) {
      all.push_back({name + "/behind:" + behind_name, {.training = kind}, task});
      all.push_back({name + "/behind:" + behind_name + "/captured", {.training = kind}, task, {}, true});
    }
    for (auto const& [closing_name, how] : closings) {
      all.push_back({name + "/behind:burst_264/landing:" + closing_name, {.training = behind::burst_264}, task, how});
    }
    for (auto const& [arrival_name, kind] : arrivals) {
      all.push_back({name + "/arrival:" + arrival_name, {.comes = kind, .bubbles = 500}, task});
    }
  }
  return all;
}

/// What Google Benchmark leaves of the arguments.
void add_options(CLI::App& app, options& with) {
  app.add_option("--size", with.work.size, "of the products of task product: rows, columns and depth")
      ->check(CLI::Range(1, 16384));
  app.add_option("--leave", with.work.leave, "how their tiles are left")
      ->check(CLI::IsMember({"within", "saved", "behind"}));
  app.add_option("--bubbles", with.bubbles, "of each treatment; 0: as the plan says")->check(CLI::Range(0, 1'000'000));
  app.add_flag("--others", with.others, "graphs hold workers of two further task types, too");
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  bench::program here{"yield_latency",
                      "What a bubble costs the training stream. Plans are chosen by --benchmark_filter, listed by "
                      "--benchmark_list_tests."};
  options with;
  add_options(here.app, with);
  return here.run(argc, argv, [&] {
    bench::need_gpu();
    for (plan const& each : plans()) {
      auto const run = [each, with](benchmark::State& state) { measure(state, each, with); };
      benchmark::RegisterBenchmark(each.name.c_str(), run)->Iterations(1)->Unit(benchmark::kMillisecond);
    }
    benchmark::RunSpecifiedBenchmarks();
    return 0;
  });
}
