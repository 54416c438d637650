// SPDX-License-Identifier: Apache-2.0
// What a bubble costs the training stream, and how fast a worker comes and goes. Device stamps throughout; the three treatments
// (no Lull, edges alone, edges and worker) take turns in one process. Figures are counters in microseconds.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <benchmark/benchmark.h>

#include <lull/bench/yield/bubbles.hpp>
#include <lull/graph/pagerank_owner.hpp>
#include <lull/host/array.hpp>
#include <lull/tasks/mlp/mlp_owner.hpp>
#include <lull/tasks/product/product_owner.hpp>
#include <lull/tasks/synthetic.hpp>

namespace {

using namespace lull;

/// What every plan is run with.
struct options {
  int rooms = 2;
  int blocks = 0;          // an SM; 0: as many as the runtime chooses
  int threads = 1024;      // of a team of the compute-bound task: 256, 512 or 1024
  std::uint32_t grain = 1;
  std::uint32_t fma = 32;  // 0.13 µs with 1024 threads on an SM
  bool successor = false;  // a second job stands behind the first
  bool others = false;     // graphs hold workers of further task types
  std::string size = "4096";    // of the products of task product
  std::string leave = "within";  // … how their tiles are left
  int bubbles = 0;            // of each treatment; 0: as the plan says
  edge_setter closes = edge_setter::memory_operation;
  launch_time launch = launch_time::at_close;
};

enum class work { compute, streaming, pagerank, product, mlp };

struct plan {
  std::string name;
  bench::setting how;
  work task = work::compute;
  std::optional<landing> lands = {};
  bool captured = false;
};

option_values values_of(task_entry const& entry, std::vector<std::pair<std::string, std::string>> const& given) {
  option_values values{entry.options};
  for (auto const& [name, text] : given) values.set(name, text);
  return values;
}

/// The side task of a plan, with what it works on.
class side_work {
 public:
  side_work(runtime& side, plan const& what, options const& with) : machine_(side.machine()) {
    constexpr std::uint64_t endless = std::uint64_t{1} << 38;
    constexpr std::uint64_t tiles = std::uint64_t{1} << 16;  // 1 GiB an array, far beyond the L2
    switch (what.task) {
      case work::compute:
        from_ = machine_array<float>{machine_, 1};
        switch (with.threads) {
          case 256: description_ = describe(basic_compute_task<256>{from_.data(), endless, 1, with.fma}); break;
          case 512: description_ = describe(basic_compute_task<512>{from_.data(), endless, 1, with.fma}); break;
          default: description_ = describe(compute_task{from_.data(), endless, 1, with.fma});
        }
        break;
      case work::streaming:
        from_ = machine_array<float>{machine_, tiles * streaming_task::tile};
        to_ = machine_array<float>{machine_, tiles * streaming_task::tile};
        trainer::fill_random_bf16(nullptr, from_.data(), from_.size() * 2, 7);
        description_ = describe(streaming_task{from_.data(), to_.data(), tiles, endless});
        break;
      case work::pagerank: make(pagerank_entry(), {{"kronecker", "22"}, {"sweeps", "1000000"}, {"tolerance", "1e-30"}}); break;
      case work::product:
        make(product_entry(), {{"rows", with.size}, {"columns", with.size}, {"depth", with.size}, {"rounds", "1000000000"}, {"leave", with.leave}});
        break;
      case work::mlp: make(mlp_entry(), {{"hidden", "1024"}, {"batch", "512"}, {"epochs", "100000"}}); break;
    }
    description_.grain = with.grain;
    description_.blocks_per_processor = with.blocks;
    jobs_.push_back(side.submit(description_));
    if (!with.successor) return;
    description_.name = "successor";
    jobs_.push_back(side.submit(description_));
  }
  ~side_work() {
    for (job& each : jobs_) each.cancel();
    for (job& each : jobs_) each.wait(std::chrono::seconds{10});
  }
  side_work(side_work const&) = delete;
  side_work& operator=(side_work const&) = delete;

  void make(task_entry const& entry, std::vector<std::pair<std::string, std::string>> const& given) {
    owner_ = entry.make(values_of(entry, given));
    owner_->prepare(machine_);
    description_ = owner_->describe();
  }

  std::uint64_t blocks() const { return machine_.blocks_of(description_.type.cuda); }

 private:
  executor& machine_;
  machine_array<float> from_;
  machine_array<float> to_;
  std::unique_ptr<task_owner> owner_;
  job_description description_;
  std::vector<job> jobs_;
};

double at(std::vector<double> const& values, double p) { return bench::percentile(values, p); }

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
  bounded(bounded const& of, bounded const& less) : value(of.value - less.value), low(of.low - less.high), high(of.high - less.low) {}
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
std::vector<task_type> types_of(work task, options const& with) {
  auto const listed = [](task_entry const& entry, std::vector<std::pair<std::string, std::string>> const& given = {}) {
    return entry.type(values_of(entry, given));
  };
  task_type const all[] = {type_of<compute_task>(), type_of<streaming_task>(), listed(pagerank_entry()),
                           listed(product_entry(), {{"leave", with.leave}}), listed(mlp_entry())};
  if (with.others) return {std::begin(all), std::begin(all) + 3};
  return {all[static_cast<std::size_t>(task)]};
}

void measure(benchmark::State& state, plan const& what, options const& with) {
  runtime_options on{.machine = {.kind = executor_kind::cuda, .rooms = with.rooms, .closes = with.closes},
                     .mode = runtime_mode::on,
                     .launch = with.launch,
                     .lands = what.lands,
                     .tasks = types_of(what.task, with),
                     .log = [](std::string_view line) { fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data()); }};
  runtime side{on};
  side_work const task{side, what, with};
  for (auto _ : state) {
    bench::bubble_bench runs;
    bench::setting how = what.how;
    if (with.bubbles != 0) how.bubbles = with.bubbles;
    auto const found = what.captured ? runs.run_captured(how, side) : runs.run(how, side);
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
  std::pair<char const*, work> const tasks[] = {{"compute", work::compute}, {"streaming", work::streaming}, {"pagerank", work::pagerank}, {"product", work::product}, {"mlp", work::mlp}};
  std::pair<char const*, arrival> const arrivals[] = {
      {"one_thread", arrival::one_thread}, {"blocks_132", arrival::blocks_132}, {"nccl_shape", arrival::nccl_shape}};
  std::pair<char const*, landing> const landings[] = {{"at_once", {}},
                                                      {"500ns_later", {.longer = nanoseconds{500}}},
                                                      {"1000ns_later", {.longer = nanoseconds{1'000}}},
                                                      {"2000ns_later", {.longer = nanoseconds{2'000}}},
                                                      {"joined", {.joins = true}}};
  for (auto const& [task_name, task] : tasks) {
    std::string const name = std::string{"yield_latency/task:"} + task_name;
    for (auto const& [behind_name, kind] : training) {
      all.push_back({name + "/behind:" + behind_name, {.training = kind}, task});
      all.push_back({name + "/behind:" + behind_name + "/captured", {.training = kind}, task, {}, true});
    }
    for (auto const& [landing_name, how] : landings) {
      all.push_back({name + "/behind:burst_264/landing:" + landing_name, {.training = behind::burst_264}, task, how});
    }
    for (auto const& [arrival_name, kind] : arrivals) {
      all.push_back({name + "/arrival:" + arrival_name, {.comes = kind, .bubbles = 500}, task});
    }
  }
  return all;
}

/// What Google Benchmark left of the arguments.
options parse(int argc, char** argv, CLI::App& app) {
  options with;
  std::string setter = "memory_operation";
  std::string launch = "at_close";
  app.add_option("--rooms", with.rooms, "groups of SMs kept off")->check(CLI::Range(0, 8));
  app.add_option("--blocks", with.blocks, "worker blocks an SM; 0: the runtime chooses")->check(CLI::Range(0, 32));
  app.add_option("--threads", with.threads, "of a team of the compute-bound task")->check(CLI::IsMember({256, 512, 1024}));
  app.add_option("--grain", with.grain, "items a chunk")->check(CLI::Range(1, 1 << 20));
  app.add_option("--fma", with.fma, "multiply-adds of an item of the compute-bound task")->check(CLI::Range(1, 1 << 20));
  app.add_option("--size", with.size, "of the products of task product: rows, columns and depth")->check(CLI::Range(1, 16384));
  app.add_option("--leave", with.leave, "how their tiles are left")->check(CLI::IsMember({"within", "saved", "behind"}));
  app.add_option("--bubbles", with.bubbles, "of each treatment; 0: as the plan says")->check(CLI::Range(0, 1'000'000));
  app.add_option("--setter", setter, "of the closing edge")->check(CLI::IsMember({"kernel", "memory_operation"}));
  app.add_option("--launch", launch, "of the worker")->check(CLI::IsMember({"at_close", "at_open"}));
  app.add_flag("--successor", with.successor, "a second job stands behind the first");
  app.add_flag("--others", with.others, "graphs hold workers of two further task types, too");
  app.parse(argc, argv);
  if (setter == "kernel") with.closes = edge_setter::kernel;
  if (launch == "at_open") with.launch = launch_time::at_open;
  return with;
}

}  // namespace

int main(int argc, char** argv) {
  if (std::string const why = lull::why_no_cuda(0); !why.empty()) {
    fprintf(stderr, "yield_latency: NOT RUN: %s\n", why.c_str());
    return 2;
  }
  benchmark::Initialize(&argc, argv);
  CLI::App app{"What a bubble costs the training stream. Plans are chosen by --benchmark_filter, listed by --benchmark_list_tests."};
  options with;
  try {
    with = parse(argc, argv, app);
  } catch (CLI::ParseError const& problem) {
    return app.exit(problem) == 0 ? 0 : 2;
  }
  for (plan const& each : plans()) {
    auto const run = [each, with](benchmark::State& state) { measure(state, each, with); };
    benchmark::RegisterBenchmark(each.name.c_str(), run)->Iterations(1)->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
}
