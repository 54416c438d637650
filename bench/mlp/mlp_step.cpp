// SPDX-License-Identifier: Apache-2.0
// A training step of the perceptron uninterrupted, in bf16: the worker by itself on all SMs, by device stamps from the
// opening edge to its last block's leaving. The data is the shipped digits, in rows of a multiple of the
// batch.
//
//   mlp_step                       the four sizes and empty phases, one JSON object each: medians, least and greatest
//   of 9 runs mlp_step HIDDEN BATCH [STEPS]  one JSON object for each line of standard input, of one run
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <lull/bench/guarded.hpp>
#include <lull/bench/mlp/empty_phases.hpp>
#include <lull/host/error.hpp>
#include <lull/host/io/shipped_file.hpp>
#include <lull/host/measure/statistics.hpp>
#include <lull/host/solo/solo_run.hpp>
#include <lull/tasks/mlp/mlp_arrays.hpp>

namespace {

using namespace lull;

constexpr std::uint32_t layers = 2;   // hidden ones
constexpr std::uint32_t rows = 1536;  // of training: whole batches of 64 and of 512
constexpr int runs = 9;

/// Microseconds from the opening edge to the last block out, of a job by itself.
class uninterrupted {
 public:
  uninterrupted() : executor_(make_executor({.kind = executor_kind::cuda, .reserved_groups = 0, .solo = true})) {}

  double us_of(job_description const& what) {
    solo_run const done = run_to_end(what, *executor_);
    if (!done.finished) throw std::runtime_error{"the job did not finish"};
    return static_cast<double>(done.time.count()) / 1e3;
  }
  lull::executor& executor() { return *executor_; }
  std::uint64_t blocks_of(job_description const& what) { return executor_->load(what.type.cuda, 0).blocks; }

 private:
  std::unique_ptr<lull::executor> executor_;
};

struct figures {
  double step_us;
  double first_loss;
  double last_loss;
};

/// The digits again and again, by a perceptron of one size.
class training {
 public:
  training(uninterrupted& where, std::uint32_t hidden, std::uint32_t batch, std::uint32_t steps) : where_(where) {
    std::string const digits = shipped_file("digits.csv.gz", "a whole checkout").string();
    labelled_rows const all = read_labelled_rows(digits);
    std::vector<std::uint32_t> which(rows);
    for (std::uint32_t i = 0; i < rows; ++i) which[i] = i % all.rows;
    row_table const table = table_of(all, which);
    std::uint32_t const of_epoch = rows / batch;
    epochs_ = (steps + of_epoch - 1) / of_epoch;
    steps_ = epochs_ * of_epoch;
    mlp_settings const settings{
        .epochs = epochs_, .batch = batch, .scale = 1.0f / 16, .precision = mlp_precision::bf16};
    std::vector<std::uint32_t> const sizes{all.features, hidden, hidden, all.classes};
    static_assert(layers == 2);
    arrays_ = std::make_unique<mlp_arrays>(where.executor(), first_layers(sizes, 1), table, row_table{}, settings);
  }

  figures run() {
    arrays_->reset();
    double const us = where_.us_of(job());
    std::vector<double> const losses = arrays_->epoch_loss();
    return {us / static_cast<double>(steps_), losses.front() / rows, losses.back() / rows};
  }
  job_description job() const { return describe(arrays_->task(), "mlp"); }
  std::uint64_t steps() const { return steps_; }

 private:
  uninterrupted& where_;
  std::uint32_t epochs_ = 0;
  std::uint64_t steps_ = 0;
  std::unique_ptr<mlp_arrays> arrays_;
};

void print_training(uninterrupted& where, std::uint32_t hidden, std::uint32_t batch, std::uint32_t steps) {
  training perceptron{where, hidden, batch, steps};
  std::vector<double> us;
  figures last{};
  for (int run = 0; run <= runs; ++run) {
    last = perceptron.run();
    if (run != 0) us.push_back(last.step_us);  // the first warms up
  }
  std::printf(
      "{\"what\": \"step\", \"hidden\": %u, \"batch\": %u, \"steps\": %llu, \"runs\": %d, \"blocks\": %llu, "
      "\"step_us\": %.4f, \"step_us_low\": %.4f, "
      "\"step_us_high\": %.4f, \"first_loss\": %.5f, \"last_loss\": %.5f}\n",
      hidden, batch, static_cast<unsigned long long>(perceptron.steps()), runs,
      static_cast<unsigned long long>(where.blocks_of(perceptron.job())), quantile(us, 0.5), quantile(us, 0),
      quantile(us, 1), last.first_loss, last.last_loss);
  std::fflush(stdout);
}

void print_phases(std::uint64_t items) {
  uninterrupted where;
  constexpr std::uint64_t phases = 20'000;
  job_description const what = describe(empty_phases{phases, items}, "empty");
  std::vector<double> us;
  for (int run = 0; run <= runs; ++run) {
    double const found = where.us_of(what) / static_cast<double>(phases);
    if (run != 0) us.push_back(found);
  }
  std::printf(
      "{\"what\": \"empty\", \"items\": %llu, \"phases\": %llu, \"runs\": %d, \"blocks\": %llu, \"phase_us\": %.4f, "
      "\"phase_us_low\": %.4f, \"phase_us_high\": %.4f}\n",
      static_cast<unsigned long long>(items), static_cast<unsigned long long>(phases), runs,
      static_cast<unsigned long long>(where.blocks_of(what)), quantile(us, 0.5), quantile(us, 0), quantile(us, 1));
  std::fflush(stdout);
}

/// A run a line, for a program that measures something else in between.
void answer(std::uint32_t hidden, std::uint32_t batch, std::uint32_t steps) {
  uninterrupted where;
  training perceptron{where, hidden, batch, steps};
  for (std::string line; std::getline(std::cin, line);) {
    figures const found = perceptron.run();
    std::printf("{\"step_us\": %.4f, \"steps\": %llu, \"first_loss\": %.5f, \"last_loss\": %.5f}\n", found.step_us,
                static_cast<unsigned long long>(perceptron.steps()), found.first_loss, found.last_loss);
    std::fflush(stdout);
  }
}

/// A whole number from 1 to 65536.
std::uint32_t number_of(char const* text) {
  char* end = nullptr;
  unsigned long const value = std::strtoul(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < 1 || value > 65536)
    throw usage_error{std::string{text} + " is no whole number from 1 to 65536"};
  return static_cast<std::uint32_t>(value);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::guarded("mlp_step", [&] {
    bench::need_gpu();
    constexpr std::uint32_t steps = 2400;
    if (argc == 2 || argc > 4) throw usage_error{"usage: mlp_step [HIDDEN BATCH [STEPS]]"};
    if (argc > 2) {
      std::uint32_t const batch = number_of(argv[2]);
      if (rows % batch != 0) throw usage_error{"BATCH must divide " + std::to_string(rows)};
      answer(number_of(argv[1]), batch, argc > 3 ? number_of(argv[3]) : steps);
      return 0;
    }
    uninterrupted where;
    for (std::uint32_t const each : {256U, 1024U}) {
      for (std::uint32_t const of : {64U, 512U}) print_training(where, each, of, steps);
    }
    for (std::uint64_t const items : {1U, 16U, 128U}) print_phases(items);
    return 0;
  });
}
