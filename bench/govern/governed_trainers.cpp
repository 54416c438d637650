// SPDX-License-Identifier: Apache-2.0
// How often the governor keeps its bound, and what harvest that costs, over simulated trainers. No GPU, no times: the
// same seeds give the same figures. One JSON object on standard output.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <lull/bench/govern/simulated_trainer.hpp>

namespace {

using namespace lull::bench;

constexpr std::array bounds{0.003, 0.005, 0.01, 0.02};
constexpr std::array<std::uint64_t, 2> lengths{2'000, 15'000};

struct outcomes {
  std::uint64_t runs = 0;
  std::uint64_t over = 0;      // the bound
  std::uint64_t far_over = 0;  // more than 1.3 times the bound
  double max = 0;              // slowdown, relative to the bound
  double max_of_all = 0;       // … of all steps, the first ones too
  double harvest = 0;
  std::vector<std::uint64_t> known_at{};  // of the runs in which it was known

  void add(governed_run const& run, double bound) {
    double const relative = run.slowdown_behind / bound;
    ++runs;
    over += relative > 1 ? 1 : 0;
    far_over += relative > 1.3 ? 1 : 0;
    max = std::max(max, relative);
    max_of_all = std::max(max_of_all, run.slowdown / bound);
    harvest += run.harvest;
    if (run.known_at != 0) known_at.push_back(run.known_at);
  }
  /// Of all runs; null where in half of them it was not known.
  nlohmann::json median_known_at() const {
    std::size_t const middle = (runs - 1) / 2;
    if (known_at.size() <= middle) return nullptr;
    std::vector<std::uint64_t> sorted = known_at;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(middle), sorted.end());
    return sorted[middle];
  }
  nlohmann::json json() const {
    return {{"runs", runs},
            {"known_at", median_known_at()},
            {"over_percent", 100.0 * static_cast<double>(over) / static_cast<double>(runs)},
            {"far_over", far_over},
            {"max_of_bound", max},
            {"max_of_bound_from_the_first_step", max_of_all},
            {"harvest", harvest / static_cast<double>(runs)}};
  }
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App program{"Measures the governor over simulated trainers."};
  std::uint64_t seeds = 52;
  program.add_option("--seeds", seeds, "runs of each trainer, bound and length")->check(CLI::Range(1, 100'000));
  CLI11_PARSE(program, argc, argv);
  outcomes all;
  nlohmann::json rows = nlohmann::json::array();
  std::uint64_t seed = 0;  // another for each run
  for (trainer_traits const& trainer : simulated_trainers()) {
    for (std::uint64_t const steps : lengths) {
      for (double const bound : bounds) {
        outcomes of;
        for (std::uint64_t i = 0; i < seeds; ++i) {
          governed_run const run = run_governed(trainer, bound, steps, ++seed);
          of.add(run, bound);
          all.add(run, bound);
        }
        nlohmann::json row = of.json();
        row.update({{"trainer", std::string{trainer.name}},
                    {"noise", trainer.noise},
                    {"steps", steps},
                    {"bound_percent", 100 * bound}});
        rows.push_back(row);
      }
    }
  }
  nlohmann::json said = all.json();
  said["rows"] = rows;
  std::cout << said.dump() << '\n';
}
