// SPDX-License-Identifier: Apache-2.0
// A task uninterrupted: the worker in one long bubble on all SMs, by device stamps, against
//   plain kernels over the same items, one a phase, if the phases are the same in each run: they are learnt in a run of
//   their own, so that none of these waits for the host;
//   textbook kernels over the same graph, where there are some (textbook/), which the host launches, by events around
//   the whole run; they must find what the worker finds.
//
//   graph_speed TASK[:OPTION=VALUE,…] [PAIRS [always|never|none [GRAIN]]]
//
// prints one JSON object: medians, least and greatest of PAIRS (5), in turns. `always` (the default) puts a kernel of
// one block between two phases, for the task's `advance`; `never` leaves it out, for tasks whose phases do not need it;
// `none` leaves out the plain kernels, for tasks whose phases depend on timing.
// A ratio is the time of the kernels divided by that of the worker.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/apps/registry/registry.hpp>
#include <lull/bench/graph/textbook/textbook.hpp>
#include <lull/bench/program.hpp>
#include <lull/graph/graph_input.hpp>
#include <lull/host/error.hpp>
#include <lull/host/measure/cuda/timed_stream.hpp>
#include <lull/host/measure/plain_kernels.hpp>
#include <lull/host/measure/statistics.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/host/task/task_request.hpp>

namespace {

using namespace lull;
using json = nlohmann::ordered_json;

struct arguments {
  std::string task;
  int pairs = 5;
  std::string between = "always";
  std::uint32_t grain = 0;
};

struct phase {
  position at;
  std::uint64_t items;

  bool operator==(phase const&) const = default;
};

class plain_run {
 public:
  plain_run(executor& executor, job_description const& what)
      : executor_(executor),
        what_(what),
        stream_(executor.own_stream()),
        kernels_(make_plain_kernels(executor, what.type.cuda)),
        word_(executor.map(sizeof(std::uint64_t))) {}
  ~plain_run() { executor_.unmap(word_, sizeof(std::uint64_t)); }

  /// Twice: other items than a phase has would go beyond arrays.
  void learn(task_owner& owner) {
    owner.reset();
    phases_ = phases();
    owner.reset();
    if (phases() != phases_) throw std::runtime_error{"its phases depend on timing: ask for `none`"};
  }

  double ms(bool advances) {
    auto* const stream = static_cast<cudaStream_t>(stream_);
    return stream_timer{}.ms(stream, [&] {
      std::optional<position> ended;
      for (phase const& each : phases_) {
        if (advances) kernels_->between(what_.functor, ended, each.at, {});
        kernels_->phase(what_.functor, {each.at, 0, each.items}, what_.grain);
        ended = each.at;
      }
    });
  }

 private:
  std::vector<phase> phases() {
    std::vector<phase> found;
    std::optional<position> ended;
    for (position next;;) {
      kernels_->between(what_.functor, ended, next, word_);
      executor_.synchronize(stream_);
      std::uint64_t const items = executor_.load_mapped(word_.host);
      if (items == finished) return found;
      if (items == starved) throw std::runtime_error{"the task waits for input"};
      found.push_back({next, items});
      kernels_->phase(what_.functor, {next, 0, items}, what_.grain);
      ended = next;
      next = next.step + 1 < what_.type.cuda.shape.steps ? position{next.round, next.step + 1}
                                                         : position{next.round + 1, 0};
    }
  }

  executor& executor_;
  job_description const& what_;
  stream_handle stream_;
  std::unique_ptr<plain_kernels> kernels_;
  mapped_memory word_;
  std::vector<phase> phases_;
};

double copied_bytes_per_s() {
  constexpr std::size_t bytes = std::size_t{1} << 30;
  timed_stream stream;
  device_buffer const from{bytes};
  device_buffer const to{bytes};
  double best = 0;
  for (int run = 0; run < 10; ++run) {
    LULL_CUDA(cudaMemsetAsync(from.get(), run + 1, bytes, stream.get()));
    double const ms = stream.ms(
        [&] { LULL_CUDA(cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToDevice, stream.get())); });
    best = std::max(best, 2.0 * bytes / (ms * 1e-3));
  }
  return best;
}

double worker_ms(executor& executor, job_description const& what, solo_run& last) {
  last = run_to_end(what, executor);
  if (!last.finished) throw std::runtime_error{"the job did not finish"};
  return static_cast<double>(last.time.count()) / 1e6;
}

/// Those of the task over the graph that its owner takes.
std::vector<bench::task_textbook> textbooks_of(task_request const& asked) {
  if (!asked.shared_library.empty() || !bench::has_textbooks(asked.name)) return {};
  auto const weights = asked.name == "sssp" ? graph_input::weights::needed : graph_input::weights::dropped;
  graph_input input{asked.name, asked.values, weights};
  csr const graph = input.take();
  return bench::make_textbooks(asked.name, graph, asked.values, input.first_id());
}

/// Milliseconds of runs by one way.
struct timed_runs {
  std::vector<double> ms;

  double median() const { return quantile(ms, 0.5); }
  void tell(std::string const& name, json& to) const {
    to[name + "_ms"] = median();
    to[name + "_ms_low"] = quantile(ms, 0);
    to[name + "_ms_high"] = quantile(ms, 1);
  }
};

void measure(arguments const& given) {
  task_request const asked = parse_task(given.task, known_tasks(), library_task);
  auto const executor = make_executor({.kind = executor_kind::cuda, .reserved_groups = 0, .solo = true});
  std::unique_ptr<task_owner> const owner = entry_of(asked).make(asked.values);
  owner->prepare(*executor);
  job_description what = owner->describe();
  if (given.grain != 0) what.grain = given.grain;
  std::uint64_t const blocks = executor->load(what.type.cuda, 0).blocks;  // before the plain kernels, too
  bool const is_plain = given.between != "none";
  plain_run plain{*executor, what};
  if (is_plain) plain.learn(*owner);
  std::vector<bench::task_textbook> const textbooks = textbooks_of(asked);
  timed_runs by_kernels;
  std::vector<timed_runs> by_textbooks(textbooks.size());
  timed_runs by_worker;
  solo_run last;
  for (int pair = 0; pair <= given.pairs; ++pair) {
    if (pair == 1) {  // the first has warmed up
      by_kernels = by_worker = {};
      by_textbooks.assign(textbooks.size(), {});
    }
    owner->reset();
    if (is_plain) by_kernels.ms.push_back(plain.ms(given.between == "always"));
    for (std::size_t i = 0; i < textbooks.size(); ++i) by_textbooks[i].ms.push_back(textbooks[i].kernels->run());
    owner->reset();
    by_worker.ms.push_back(worker_ms(*executor, what, last));
  }
  verification const verdict = owner->verify();
  if (!verdict.ok) throw std::runtime_error{"wrong result: " + verdict.message};
  for (bench::task_textbook const& each : textbooks) bench::compare(each, *executor, *owner);
  double const worker = by_worker.median();
  json found{{"task", given.task},    {"pairs", given.pairs}, {"advance", given.between},
             {"phases", last.phases}, {"items", last.items},  {"blocks", blocks}};
  by_worker.tell("worker", found);
  if (is_plain) {
    by_kernels.tell("plain", found);
    found["speed_ratio"] = by_kernels.median() / worker;
  }
  for (std::size_t i = 0; i < textbooks.size(); ++i) {
    by_textbooks[i].tell(textbooks[i].name, found);
    found[textbooks[i].name + "_ratio"] = by_textbooks[i].median() / worker;
  }
  found["worker_us_per_phase"] = worker * 1e3 / static_cast<double>(last.phases);
  found["chunk_us"] = static_cast<double>(last.chunk_time().count()) / 1e3;
  found["copy_gb_per_s"] = copied_bytes_per_s() / 1e9;
  for (task_figure const& each : owner->figures()) found[each.name] = each.value;
  std::cout << found.dump() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  arguments given;
  bench::program here{"graph_speed", "A graph task uninterrupted, beside plain kernels and those of textbooks"};
  here.app.add_option("task", given.task, "TASK[:OPTION=VALUE,...]")->required();
  here.app.add_option("pairs", given.pairs, "of runs, in turns")->check(CLI::Range(1, 10'000));
  here.app.add_option("between", given.between, "a kernel between two phases; none: no plain kernels")
      ->check(CLI::IsMember({"always", "never", "none"}));
  here.app.add_option("grain", given.grain, "items a chunk; 0: the task's own");
  return here.run(argc, argv, [&] {
    bench::need_gpu();
    measure(given);
    return 0;
  });
}
