// SPDX-License-Identifier: Apache-2.0
// How often the governor keeps its bound, and what harvest that costs, over simulated trainers. No GPU, no times: the
// same seeds give the same figures. One JSON object on standard output.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <lull/bench/govern/simulated_trainer.hpp>

namespace {

using namespace lull::bench;

struct outcomes {
  std::uint64_t runs = 0;
  std::uint64_t over = 0;      // the bound
  std::uint64_t far_over = 0;  // more than 1.3 times the bound
  std::uint64_t known = 0;     // runs of trainers whose slowdown is the same all the time, with an interval at the end
  std::uint64_t held = 0;      // of these, whose interval holds it
  double max = 0;              // slowdown, relative to the bound
  double max_of_all = 0;       // … of all steps, the first ones too
  double harvest = 0;
  std::vector<std::uint64_t> known_at{};  // of the runs in which it was known

  void add(governed_run const& run, trainer_traits const& trainer, double bound) {
    double const relative = run.slowdown_behind / bound;
    ++runs;
    over += relative > 1 ? 1 : 0;
    far_over += relative > 1.3 ? 1 : 0;
    known += is_constant(trainer) && run.is_known ? 1 : 0;
    held += is_constant(trainer) && run.is_held ? 1 : 0;
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
  static nlohmann::json percent(std::uint64_t part, std::uint64_t of) {
    return of == 0 ? nlohmann::json{} : nlohmann::json(100.0 * static_cast<double>(part) / static_cast<double>(of));
  }
  nlohmann::json json() const {
    return {{"runs", runs},
            {"known_at", median_known_at()},
            {"over_percent", percent(over, runs)},
            {"far_over", far_over},
            {"held_percent", percent(held, known)},
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
  std::vector<double> bounds{0.003, 0.005, 0.01, 0.02};
  program.add_option("--bounds", bounds, "on slowdown, as shares of a step")
      ->check(CLI::Range(1e-4, 1.0))
      ->delimiter(',');
  std::vector<std::uint64_t> lengths{2'000, 15'000};
  program.add_option("--steps", lengths, "of a run")->check(CLI::Range(300, 10'000'000))->delimiter(',');
  std::vector<std::string> words;
  program.add_option("--trainers", words, "those whose names contain one of these words; all by default")
      ->delimiter(',');
  CLI11_PARSE(program, argc, argv);
  auto const is_chosen = [&](trainer_traits const& of) {
    auto const is_in = [&](std::string const& word) { return of.name.find(word) != std::string_view::npos; };
    return words.empty() || std::any_of(words.begin(), words.end(), is_in);
  };
  outcomes all;
  nlohmann::json rows = nlohmann::json::array();
  std::uint64_t seed = 0;  // another for each run
  for (trainer_traits const& trainer : simulated_trainers()) {
    if (!is_chosen(trainer)) continue;
    for (std::uint64_t const steps : lengths) {
      for (double const bound : bounds) {
        outcomes of;
        for (std::uint64_t i = 0; i < seeds; ++i) {
          governed_run const run = run_governed(trainer, bound, steps, ++seed);
          of.add(run, trainer, bound);
          all.add(run, trainer, bound);
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
  if (all.runs == 0) {
    std::cerr << "governed_trainers: no trainer has a name with one of these words\n";
    return 2;
  }
  nlohmann::json said = all.json();
  said["rows"] = rows;
  std::cout << said.dump() << '\n';
}
