// SPDX-License-Identifier: Apache-2.0
// A training step of the perceptron uninterrupted, in bf16: the worker by itself on all SMs, by device stamps from the
// opening edge to its last block's leaving. The data is the shipped digits, in rows of a multiple of the batch.
//
//   mlp_step HIDDEN BATCH [STEPS]  one JSON object for each line of standard input, of one run
//   mlp_step                       empty phases, one JSON object each: median, least and greatest of 9 runs
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <lull/bench/mlp/empty_phases.hpp>
#include <lull/bench/program.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/shipped_file.hpp>
#include <lull/host/measure/statistics.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/tasks/mlp/mlp_arrays.hpp>

namespace {

using namespace lull;
using json = nlohmann::ordered_json;

constexpr std::uint32_t rows = 1536;  // of training: whole batches of 64 and of 512
constexpr int runs = 9;

struct arguments {
  std::uint32_t hidden = 0;  // of each of two layers; 0: empty phases
  std::uint32_t batch = 512;
  std::uint32_t steps = 2400;
};

/// Microseconds from the opening edge to the last block out, of a job by itself.
double us_of(job_description const& what, executor& executor) {
  solo_run const done = run_to_end(what, executor);
  if (!done.finished) throw std::runtime_error{"the job did not finish"};
  return static_cast<double>(done.time.count()) / 1e3;
}

/// Of the digits again and again, a run a line, for a program that measures something else in between.
void answer(executor& executor, arguments const& given) {
  std::string const digits = shipped_file("digits.csv.gz", "a whole checkout").string();
  labelled_rows const all = read_labelled_rows(digits);
  std::vector<std::uint32_t> which(rows);
  for (std::uint32_t i = 0; i < rows; ++i) which[i] = i % all.rows;
  std::uint32_t const of_epoch = rows / given.batch;
  std::uint32_t const epochs = (given.steps + of_epoch - 1) / of_epoch;
  mlp_settings const settings{
      .epochs = epochs, .batch = given.batch, .scale = 1.0f / 16, .precision = mlp_precision::bf16};
  std::vector<std::uint32_t> const sizes{all.features, given.hidden, given.hidden, all.classes};
  mlp_arrays arrays{executor, first_layers(sizes, 1), table_of(all, which), row_table{}, settings};
  for (std::string line; std::getline(std::cin, line);) {
    arrays.reset();
    double const us = us_of(describe(arrays.task(), "mlp"), executor);
    std::vector<double> const losses = arrays.epoch_loss();
    std::uint64_t const steps = std::uint64_t{epochs} * of_epoch;
    json const found{{"step_us", us / static_cast<double>(steps)},
                     {"steps", steps},
                     {"first_loss", losses.front() / rows},
                     {"last_loss", losses.back() / rows}};
    std::cout << found.dump() << std::endl;
  }
}

void print_phases(executor& executor, std::uint64_t items) {
  constexpr std::uint64_t phases = 20'000;
  job_description const what = describe(empty_phases{phases, items}, "empty");
  std::vector<double> us;
  for (int run = 0; run <= runs; ++run) {
    double const found = us_of(what, executor) / static_cast<double>(phases);
    if (run != 0) us.push_back(found);  // the first warms up
  }
  json const found{{"what", "empty"},
                   {"items", items},
                   {"phases", phases},
                   {"runs", runs},
                   {"blocks", executor.load(what.type.cuda, 0).blocks},
                   {"phase_us", quantile(us, 0.5)},
                   {"phase_us_low", quantile(us, 0)},
                   {"phase_us_high", quantile(us, 1)}};
  std::cout << found.dump() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  arguments given;
  bench::program here{"mlp_step",
                      "A training step of the perceptron uninterrupted, a run for each line of standard input"};
  here.app.add_option("hidden", given.hidden, "width of both hidden layers; left out: empty phases")
      ->check(CLI::Range(1, 65536));
  here.app.add_option("batch", given.batch, "which divides the rows")->check(CLI::Range(1U, rows));
  here.app.add_option("steps", given.steps, "of a run")->check(CLI::Range(1, 65536));
  return here.run(argc, argv, [&] {
    bench::need_gpu();
    if (rows % given.batch != 0) throw usage_error{"BATCH must divide " + std::to_string(rows)};
    auto const executor = make_executor({.kind = executor_kind::cuda, .reserved_groups = 0, .solo = true});
    if (given.hidden != 0) {
      answer(*executor, given);
    } else {
      for (std::uint64_t const items : {1U, 16U, 128U}) print_phases(*executor, items);
    }
    return 0;
  });
}
