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
    trainer_traits{.name = "slight, as supposed", .slowdown = 0.002, .assumed = 0.002},
    trainer_traits{.name = "usual, as supposed", .assumed = 0.02},
    trainer_traits{.name = "devoured, as supposed", .slowdown = 0.5, .assumed = 0.5},
    trainer_traits{.name = "devoured, tripled, as supposed", .slowdown = 2, .assumed = 2},
    trainer_traits{.name = "hungry, supposed slight", .slowdown = 0.08, .assumed = 0.002},
    trainer_traits{.name = "devoured, supposed slight", .slowdown = 0.5, .assumed = 0.002},
    trainer_traits{.name = "slight, supposed hungry", .slowdown = 0.002, .assumed = 0.08},
    trainer_traits{.name = "slight, supposed devouring", .slowdown = 0.002, .assumed = 0.5},
};

// Means of two steps of the stage of scripts/measure_stage.py without side work, in milliseconds: one NVIDIA H100,
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
    if (step_ >= steps_ / 3) ns *= 1 + of_.jump;
    if (uniform_(random_) < of_.doubled) ns *= 2;
    if (uniform_(random_) < of_.outliers) ns *= 1.05;
    if (step_ == 0) ns *= of_.first;
    if (step_ == steps_ / 4) ns *= 1 + of_.pause;
    ++step_;
    return ns;
  }

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
};

}  // namespace

std::span<trainer_traits const> simulated_trainers() { return trainers; }

governed_run run_governed(trainer_traits const& trainer, double max_slowdown, std::uint64_t steps, std::uint64_t seed) {
  step_times times{trainer, steps, seed};
  std::size_t const count = trainer.other_rank < 0 ? 1 : 2;
  std::vector<governor> ranks(count, governor{{.max_slowdown = max_slowdown, .draw_seed = seed}});
  if (trainer.assumed >= 0) {
    for (governor& rank : ranks) rank.assume_slowdown(kind, {trainer.assumed});
  }
  std::vector<double> took_ns;
  governed_run found;
  double best = 0;
  std::uint64_t harvested = 0;
  for (std::uint64_t step = 0; step < steps; ++step) {
    bool const is_later = trainer.later_slowdown >= 0 && step >= steps / 2;
    double const slowdown = is_later ? trainer.later_slowdown : trainer.slowdown;
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
    double const halved = trainer.half >= 0 ? speed_of_half * std::min(1.0, max_slowdown / half) : 0;
    best += std::max(halved, std::min(1.0, max_slowdown / of_all) * static_cast<double>(count));
    found.slowdown += longer;
    if (step >= warm_up) found.slowdown_behind += longer;
    took_ns.push_back(times.next_ns() * (1 + longer));
    if (step < late) continue;
    for (governor& rank : ranks) rank.took(step - late, took_ns[step - late]);
    if (found.known_at != 0) continue;
    auto const now = ranks.front().interval(kind, ranks.front().is_halved(kind));
    if (now && now->high - now->low <= max_slowdown) found.known_at = step;
  }
  found.slowdown /= static_cast<double>(steps);
  found.slowdown_behind /= static_cast<double>(steps - warm_up);
  found.harvest /= best;
  return found;
}

}  // namespace lull::bench
