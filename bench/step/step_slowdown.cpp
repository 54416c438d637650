// SPDX-License-Identifier: Apache-2.0
// What harvesting costs a step of short kernels with bubbles between them, and what it brings, scope after scope in one
// process: a worker that waits on the device for its bubble may make each kernel of the trainer start later, and
// whether it does differs from scope to scope. Times by device events and device stamps. One JSON object on standard
// output.
//   step_slowdown --task compute --connections 8 --foreign
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/bench/program.hpp>
#include <lull/bench/step/step_scope.hpp>
#include <lull/bench/step/step_trainer.hpp>
#include <lull/host/measure/statistics.hpp>

namespace {

using namespace lull;

struct arguments {
  int scopes = 6;
  std::string task = "compute";
  std::optional<double> armed_ahead_us;
  double bubble_us = 3000;
  std::string stream = "legacy";
  std::string launch = "at_close";
  int connections = 0;
  int streams_before = 0;
  bench::step_shape shape;
  bench::scope_settings scope;
};

nlohmann::ordered_json as_asked(arguments const& given) {
  using json = nlohmann::ordered_json;
  return {{"task", given.task},
          {"armed_ahead_us", given.armed_ahead_us ? json(*given.armed_ahead_us) : json(nullptr)},
          {"connections", given.connections},
          {"foreign", given.shape.foreign},
          {"stream", given.stream},
          {"launch", given.launch},
          {"host_bound", given.shape.host_bound},
          {"streams_before", given.streams_before},
          {"segments", given.shape.segments},
          {"kernels", given.shape.kernels},
          {"kib", given.shape.kib},
          {"rounds", given.shape.rounds},
          {"bubble_us", given.bubble_us},
          {"jitter", given.shape.jitter},
          {"group", given.scope.group},
          {"seed", given.scope.seed}};
}

/// Over scopes: the interval is of the mean of scopes, which differ from each other by more than each of them by
/// itself.
nlohmann::ordered_json summed_up(arguments const& given, std::vector<bench::scope_figures> const& scopes) {
  std::vector<double> none, worker, none_ns, worker_ns, harvest, net;
  std::uint64_t lease_exits = 0;
  for (bench::scope_figures const& one : scopes) {
    none.push_back(one.step_ms_none);
    worker.push_back(one.step_ms_worker);
    none_ns.push_back(one.kernel_ns_none);
    worker_ns.push_back(one.kernel_ns_worker);
    if (one.harvest) harvest.push_back(*one.harvest);
    if (one.net) net.push_back(*one.net);
    lease_exits += one.lease_exits;
  }
  auto const worst = std::max_element(scopes.begin(), scopes.end(), [](auto const& one, auto const& other) {
    return one.slowdown_percent < other.slowdown_percent;
  });
  slowdown const over = paired_slowdown(none, worker);
  nlohmann::ordered_json made{
      {"name", "step_slowdown"}, {"arguments", as_asked(given)}, {"slowdown_percent", over.percent}};
  if (over.ci95_percent) {
    made["slowdown_percent_low"] = over.ci95_percent->low;
    made["slowdown_percent_high"] = over.ci95_percent->high;
  }
  made["worst_slowdown_percent"] = worst->slowdown_percent;
  made["worst_slowdown_percent_low"] = worst->all.at("slowdown_percent_low");
  made["worst_slowdown_percent_high"] = worst->all.at("slowdown_percent_high");
  made["worst_scope"] = worst - scopes.begin();
  made["step_ms_none"] = over.baseline;
  made["kernel_ns_none"] = mean(none_ns);
  made["kernel_ns_worker"] = mean(worker_ns);
  if (harvest.size() == scopes.size()) {
    made["harvest"] = mean(harvest);
    made["least_harvest"] = *std::min_element(harvest.begin(), harvest.end());
    made["net"] = mean(net);
  }
  made["lease_exits"] = lease_exits;
  for (bench::scope_figures const& one : scopes) made["scopes"].push_back(one.all);
  return made;
}

int run(arguments const& given) {
  // The legacy stream's trainer, or one with a stream of its own, outlives all scopes, as a training outlives a
  // harvest.
  bench::step_trainer trainer{given.shape};
  std::vector<cuda_stream> before;
  std::vector<bench::scope_figures> scopes;
  for (int i = 0; i < given.scopes; ++i) {
    for (int s = 0; s < given.streams_before; ++s) before.emplace_back(0);
    bench::scope_settings with = given.scope;
    with.seed += static_cast<std::uint64_t>(i) * 1'000'000;
    scopes.push_back(bench::measure_scope(trainer, with));
    auto const& one = scopes.back();
    std::fprintf(stderr, "scope %d: %+.2f %%, %.0f -> %.0f ns a kernel, harvest %.3f\n", i, one.slowdown_percent,
                 one.kernel_ns_none, one.kernel_ns_worker, one.harvest.value_or(-1));
  }
  std::cout << summed_up(given, scopes).dump() << std::endl;
  return 0;
}

void add_options(bench::program& to, arguments& given) {
  CLI::App& app = to.app;
  app.add_option("--scopes", given.scopes, "runtimes, one after the other")->check(CLI::Range(1, 64));
  app.add_option("--task", given.task, "side task")->check(CLI::IsMember(bench::work_names()));
  app.add_option("--kronecker", given.scope.work.kronecker, "log2 of the vertices of pagerank's graph")
      ->check(CLI::Range(10, 26));
  app.add_option("--size", given.scope.work.size, "rows, columns and depth of task product")
      ->check(CLI::Range(64, 16384));
  app.add_option("--armed-ahead-us", given.armed_ahead_us,
                 "how long before its bubble a worker may be enqueued; left out: Lull chooses")
      ->check(CLI::Range(0.0, 1e9));
  app.add_option("--bubble-us", given.bubble_us, "length of a bubble")->check(CLI::Range(10.0, 1e6));
  app.add_option("--jitter", given.shape.jitter, "draw lengths uniformly from ± this share")
      ->check(CLI::Range(0.0, 0.9));
  app.add_option("--segments", given.shape.segments, "segments, bubbles and sites of a step")->check(CLI::Range(2, 32));
  app.add_option("--kernels", given.shape.kernels, "kernels of a segment")->check(CLI::Range(2, 100'000));
  app.add_option("--kib", given.shape.kib, "KiB that each kernel works on")->check(CLI::Range(1, 1 << 20));
  app.add_option("--rounds", given.shape.rounds, "operations on each value")->check(CLI::Range(1, 1 << 20));
  app.add_option("--group", given.scope.group, "steps of a group")->check(CLI::Range(1, 1000));
  app.add_option("--seconds", given.scope.seconds, "of pairs a scope; six pairs in any case")
      ->check(CLI::Range(0.0, 600.0));
  app.add_option("--stream", given.stream, "of the trainer")->check(CLI::IsMember({"legacy", "own"}));
  app.add_option("--launch", given.launch, "of workers")->check(CLI::IsMember({"at_close", "at_open"}));
  to.add_connections(given.connections);
  app.add_option("--streams-before", given.streams_before, "streams made before each scope, and kept")
      ->check(CLI::Range(0, 64));
  app.add_flag("--foreign", given.shape.foreign, "another stream of the program always has a wait pending");
  app.add_flag("--host-bound", given.shape.host_bound, "the host waits for the device before each bubble");
  app.add_option("--seed", given.scope.seed, "of the lengths");
  to.add_limit(240);
}

}  // namespace

int main(int argc, char** argv) {
  arguments given;
  bench::program here{"step_slowdown",
                      "What harvesting costs a step of short kernels with bubbles between them, scope after scope"};
  add_options(here, given);
  return here.run(argc, argv, [&] {
    bench::need_gpu();
    given.shape.bubble_ns = static_cast<std::uint64_t>(given.bubble_us * 1e3);
    given.shape.stream = given.stream == "own" ? bench::trainer_stream::own : bench::trainer_stream::legacy;
    given.scope.task = bench::work_kinds().at(given.task);
    given.scope.launch = given.launch == "at_open" ? launch_time::at_open : launch_time::at_close;
    if (given.armed_ahead_us)
      given.scope.armed_ahead = std::chrono::nanoseconds{static_cast<std::int64_t>(*given.armed_ahead_us * 1e3)};
    return run(given);
  });
}
