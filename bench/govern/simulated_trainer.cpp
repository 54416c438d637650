// SPDX-License-Identifier: Apache-2.0
#include <lull/bench/govern/simulated_trainer.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include <lull/host/govern/governor.hpp>

namespace lull::bench {

namespace {

constexpr std::uint64_t warm_up = 200;  // steps
constexpr std::uint64_t late = 3;       // steps
constexpr std::uint64_t wave = 3'000;   // steps of the drift
constexpr double step_ns = 1e8;
constexpr std::uint64_t kind = 1;       // of its side work
constexpr double speed_of_half = 0.62;  // products with half of the blocks (docs/decisions/governor.md)

constexpr std::array trainers{
    trainer_traits{.name = "quiet", .noise = 0.003},
    trainer_traits{.name = "usual"},
    trainer_traits{.name = "noisy", .noise = 0.05},
    trainer_traits{.name = "quiet, slight", .slowdown = 0.002, .noise = 0.003},
    trainer_traits{.name = "usual, slight", .slowdown = 0.002},
    trainer_traits{.name = "usual, moderate", .slowdown = 0.006},
    trainer_traits{.name = "moderate, begins hungry", .slowdown = 0.006, .noise = 0.005, .dear = 16},
    trainer_traits{.name = "usual, hungry", .slowdown = 0.08},
    trainer_traits{.name = "noise that persists", .persistence = 0.8},
    trainer_traits{.name = "noise that persists, slight", .slowdown = 0.003, .noise = 0.008, .persistence = 0.8},
    trainer_traits{.name = "outliers, slight", .slowdown = 0.003, .noise = 0.003, .outliers = 0.03},
    trainer_traits{.name = "drift", .drift = 0.05},
    trainer_traits{.name = "longer steps from a moment on", .jump = 0.1},
    trainer_traits{.name = "steps that double", .doubled = 0.003},
    trainer_traits{.name = "quiet, turns hungry", .slowdown = 0.002, .later_slowdown = 0.04, .noise = 0.003},
    trainer_traits{.name = "usual, turns hungry", .slowdown = 0.002, .later_slowdown = 0.04},
    trainer_traits{.name = "noisy, turns hungry", .slowdown = 0.002, .later_slowdown = 0.04, .noise = 0.05},
    trainer_traits{.name = "usual, turns very hungry", .slowdown = 0.002, .later_slowdown = 0.2},
    trainer_traits{.name = "usual, turns a little hungry", .slowdown = 0.002, .later_slowdown = 0.01},
    trainer_traits{.name = "quiet, slowly turns hungry",
                   .slowdown = 0.0005,
                   .later_slowdown = 0.03,
                   .ramp = 4'000,
                   .noise = 0.003},
    trainer_traits{.name = "usual, turns tame", .slowdown = 0.04, .later_slowdown = 0.002},
    trainer_traits{.name = "devoured", .slowdown = 0.5},
    trainer_traits{.name = "devoured, tripled", .slowdown = 2},
    trainer_traits{.name = "first step thirty times as long", .first = 30},
    trainer_traits{.name = "a pause of 300 steps", .pause = 300},
    trainer_traits{.name = "steps of twice the length from a moment on", .jump = 1},
    trainer_traits{.name = "two ranks", .slowdown = 0.01, .other_rank = 0.002},
    trainer_traits{.name = "recorded", .is_recorded = true},
    trainer_traits{.name = "hungry, half a quarter", .slowdown = 0.03, .half = 0.007},
    trainer_traits{.name = "devoured, half a quarter", .slowdown = 0.5, .half = 0.12},
    trainer_traits{.name = "noisy, hungry, half a half", .slowdown = 0.03, .noise = 0.05, .half = 0.015},
    trainer_traits{.name = "hungry, half a half", .slowdown = 0.03, .half = 0.015},
    trainer_traits{.name = "hungry, half as much", .slowdown = 0.03, .half = 0.03},
    trainer_traits{.name = "hungry, half a quarter, turns tame",
                   .slowdown = 0.03,
                   .later_slowdown = 0.002,
                   .half = 0.007,
                   .later_half = 0.001},
    trainer_traits{.name = "carried over 2", .carry = 2},
    trainer_traits{.name = "carried over 5", .carry = 5},
    trainer_traits{.name = "carried over 10", .carry = 10},
    trainer_traits{.name = "carried over 30", .carry = 30},
    trainer_traits{.name = "carried over 30, slight", .slowdown = 0.003, .carry = 30},
    trainer_traits{.name = "carried over 10, moderate", .slowdown = 0.006, .carry = 10},
    trainer_traits{.name = "carried over 30, moderate", .slowdown = 0.006, .carry = 30},
    trainer_traits{.name = "carried over 10, hungry", .slowdown = 0.08, .carry = 10},
    trainer_traits{.name = "quiet, carried over 10", .noise = 0.003, .carry = 10},
    trainer_traits{.name = "noisy, carried over 10", .noise = 0.05, .carry = 10},
    trainer_traits{.name = "work, slight", .slowdown = 0.003, .noise = 0.03, .lengths = 0.3, .says_work = true},
    trainer_traits{.name = "work, slight, carried over 10",
                   .slowdown = 0.003,
                   .noise = 0.03,
                   .carry = 10,
                   .lengths = 0.3,
                   .says_work = true},
    trainer_traits{.name = "work, usual", .noise = 0.03, .lengths = 0.3, .says_work = true},
    trainer_traits{.name = "unsaid work, slight", .slowdown = 0.003, .noise = 0.03, .lengths = 0.3},
    trainer_traits{.name = "checkpoints, slight", .slowdown = 0.003, .checkpoint = 5},
    trainer_traits{.name = "checkpoints", .checkpoint = 5},
    trainer_traits{.name = "accumulated, slight", .slowdown = 0.003, .accumulated = 0.5},
    trainer_traits{.name = "accumulated", .accumulated = 0.5},
    trainer_traits{.name = "evaluations, slight", .slowdown = 0.003, .evaluation = 0.35},
    trainer_traits{.name = "evaluations", .evaluation = 0.35},
    trainer_traits{.name = "slight, as supposed", .slowdown = 0.002, .assumed = 0.002},
    trainer_traits{.name = "usual, as supposed", .assumed = 0.02},
    trainer_traits{.name = "devoured, as supposed", .slowdown = 0.5, .assumed = 0.5},
    trainer_traits{.name = "devoured, tripled, as supposed", .slowdown = 2, .assumed = 2},
    trainer_traits{.name = "hungry, supposed slight", .slowdown = 0.08, .assumed = 0.002},
    trainer_traits{.name = "devoured, supposed slight", .slowdown = 0.5, .assumed = 0.002},
    trainer_traits{.name = "slight, supposed hungry", .slowdown = 0.002, .assumed = 0.08},
    trainer_traits{.name = "slight, supposed devouring", .slowdown = 0.002, .assumed = 0.5},
};

// Means of two steps of the stage of bench/lab/trainer.py without side work, in milliseconds: one NVIDIA H100,
// driver 580.159.04, 2026-11-25.
constexpr std::array recorded_ms{
    128.26, 124.35, 125.06, 125.06, 124.88, 124.78, 124.76, 124.58, 124.91, 124.80, 125.15, 124.82, 125.05, 124.64,
    125.01, 124.83, 125.71, 124.55, 125.04, 124.79, 125.02, 124.79, 124.94, 124.75, 125.35, 124.88, 125.14, 124.94,
    125.14, 125.02, 125.14, 125.04, 125.18, 124.86, 125.35, 124.84, 124.71, 124.73, 124.80, 125.18, 125.57, 124.81,
    125.25, 124.70, 125.11, 125.26, 125.22, 125.04, 125.28, 124.84, 125.80, 124.71, 125.08, 125.08, 125.03, 125.01,
    125.32, 124.86, 125.22, 125.55, 124.90, 124.99, 125.09, 124.91, 125.36, 124.93, 125.35, 124.98, 125.40, 125.16,
    125.11, 125.20, 125.01, 124.87, 125.12, 125.11, 125.11, 124.91, 124.97, 124.91};

class step_times {
 public:
  step_times(trainer_traits const& of, std::uint64_t steps, std::uint64_t seed)
      : of_(of), steps_(steps), random_(seed) {}

  /// Of the next step without side work.
  double next_ns() {
    double ns = step_ns * (1 + noise()) * (1 + of_.drift * std::sin(2 * std::numbers::pi * phase()));
    if (of_.lengths > 0) {
      work_ = std::exp(of_.lengths * normal_(random_));
      ns *= of_.fixed + (1 - of_.fixed) * work_;
    }
    if (of_.accumulated > 0 && step_ % 8 == 7) ns *= 1 + of_.accumulated;
    if (of_.evaluation > 0 && step_ % 500 >= 460) ns *= of_.evaluation;
    if (step_ % 100 == 99) ns += of_.checkpoint * step_ns;
    if (step_ >= steps_ / 3) ns *= 1 + of_.jump;
    if (uniform_(random_) < of_.doubled) ns *= 2;
    if (uniform_(random_) < of_.outliers) ns *= 1.05;
    if (step_ == 0) ns *= of_.first;
    if (step_ == steps_ / 4) ns *= 1 + of_.pause;
    ++step_;
    return ns;
  }
  /// Of the step whose time was returned last, if the governor is told.
  double work() const { return of_.says_work ? work_ : 0; }

 private:
  double phase() const { return static_cast<double>(step_) / static_cast<double>(wave); }
  double noise() {
    if (of_.is_recorded) {
      // Sixteen steps in a row, from anywhere.
      if (step_ % 16 == 0) at_ = 2 * (random_() % (recorded_ms.size() - 8));
      return recorded_ms[(at_ + step_ % 16) / 2] / 125 - 1;
    }
    last_ = of_.persistence * last_ + std::sqrt(1 - of_.persistence * of_.persistence) * normal_(random_);
    return std::max(of_.noise * last_, -0.5);
  }

  trainer_traits const& of_;
  std::uint64_t const steps_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  std::uint64_t step_ = 0;
  std::uint64_t at_ = 0;
  double last_ = 0;
  double work_ = 1;
};

/// So many steps after the middle of the run.
double later_slowdown(trainer_traits const& trainer, std::uint64_t step) {
  if (trainer.ramp <= 0) return trainer.later_slowdown;
  double const way = std::min(1.0, static_cast<double>(step) / trainer.ramp);
  return trainer.slowdown + way * (trainer.later_slowdown - trainer.slowdown);
}

}  // namespace

bool is_constant(trainer_traits const& trainer) {
  return trainer.later_slowdown < 0 && trainer.other_rank < 0 && trainer.dear == 0;
}

std::span<trainer_traits const> simulated_trainers() { return trainers; }

governed_run run_governed(trainer_traits const& trainer, double max_slowdown, std::uint64_t steps, std::uint64_t seed,
                          bool is_cap) {
  step_times times{trainer, steps, seed};
  std::size_t const count = trainer.other_rank < 0 ? 1 : 2;
  std::vector<governor> ranks(count, governor{{.max_slowdown = max_slowdown, .draw_seed = seed, .is_cap = is_cap}});
  if (trainer.assumed >= 0) {
    for (governor& rank : ranks) rank.assume_slowdown(kind, {trainer.assumed});
  }
  std::vector<double> took_ns;
  std::vector<double> works;
  double const kept = trainer.carry > 0 ? std::exp(-1 / trainer.carry) : 0;
  double heat = 0;  // what a step with side work costs now
  governed_run found;
  double best = 0;
  std::uint64_t harvested = 0;
  for (std::uint64_t step = 0; step < steps; ++step) {
    bool const is_later = trainer.later_slowdown >= 0 && step >= steps / 2;
    double const slowdown = is_later ? later_slowdown(trainer, step - steps / 2) : trainer.slowdown;
    double const half = is_later ? trainer.later_half : trainer.half;
    std::array const by_rank{slowdown, trainer.other_rank};
    double longer = 0;
    double of_all = 0;
    for (std::size_t rank = 0; rank < count; ++rank) {
      of_all += by_rank[rank];
      side_work const runs = ranks[rank].decide(step, kind, trainer.half >= 0);
      if (runs == side_work::none) continue;
      longer += runs == side_work::half ? half : by_rank[rank];
      found.harvest += runs == side_work::half ? speed_of_half : 1;
    }
    if (longer > 0 && harvested++ < trainer.dear) longer += trainer.dearer;
    heat = kept * heat + (1 - kept) * longer;
    longer = heat;
    double const halved = trainer.half >= 0 ? speed_of_half * std::min(1.0, max_slowdown / half) : 0;
    best += std::max(halved, std::min(1.0, max_slowdown / of_all) * static_cast<double>(count));
    found.slowdown += longer;
    if (step >= warm_up) found.slowdown_behind += longer;
    took_ns.push_back(times.next_ns() * (1 + longer));
    works.push_back(times.work());
    if (step < late) continue;
    for (governor& rank : ranks) rank.took(step - late, took_ns[step - late], works[step - late]);
    if (found.known_at != 0) continue;
    auto const now = ranks.front().interval(kind, ranks.front().is_halved(kind));
    if (now && now->high - now->low <= max_slowdown) found.known_at = step;
  }
  auto const known = ranks.front().interval(kind);
  found.is_known = known.has_value();
  found.is_held = known && known->low <= trainer.slowdown && known->high >= trainer.slowdown;
  found.slowdown /= static_cast<double>(steps);
  found.slowdown_behind /= static_cast<double>(steps - warm_up);
  found.harvest /= best;
  return found;
}

}  // namespace lull::bench
