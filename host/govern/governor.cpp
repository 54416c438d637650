// SPDX-License-Identifier: Apache-2.0
#include <lull/host/govern/governor.hpp>

#include <algorithm>
#include <cmath>

#include <lull/host/error.hpp>

namespace lull {

namespace {

constexpr double first_chance = 0.2;  // while the slowdown is not known
constexpr double least_chance = 1e-3;
constexpr double aim = 0.98;          // of the bound: spells that are drawn scatter around their chance
constexpr double reserve = 6;         // harvested spells that could be paid for at any time
constexpr double horizon = 40;        // spells within which a loss is made up for
constexpr double near_withheld = 0.12;  // share of spells, where the slowdown may be as high as the bound
constexpr double withheld_weight = 0.2, harvested_weight = 0.06;  // of the last spell in the forecast
constexpr double spread_weight = 0.05;
constexpr double least_spread = 1e-4;
// A cumulative sum of surprises tells a rise (Page, Biometrika 41, 1954).
constexpr double expected_surprise = 0.75, startling = 3.5;  // spreads
constexpr std::uint32_t wary_spells = 24;
constexpr double wary_chance = 0.3;

/// Uniform in [0, 1) (SplitMix64: Steele, Lea and Flood, OOPSLA 2014).
double draw(std::uint64_t trainer, std::uint64_t spell) {
  std::uint64_t z = trainer + (spell + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

governor_options checked(governor_options const& asked) {
  if (!(asked.max_slowdown > 0 && asked.max_slowdown <= 1)) {
    throw usage_error{"max_slowdown is " + std::to_string(asked.max_slowdown) +
                      ": it must be above 0 and at most 1, as a share of a step: 0.005 is half a per cent"};
  }
  if (asked.steps_a_spell == 0) throw usage_error{"steps_a_spell is 0: set it to 1 or more"};
  if (!(asked.min_withheld > 0 && asked.min_withheld <= 0.5)) {
    throw usage_error{"min_withheld is " + std::to_string(asked.min_withheld) +
                      ": it must be above 0 and at most 0.5"};
  }
  return asked;
}

}  // namespace

governor::governor(governor_options const& options) : options_(checked(options)), chance_(first_chance) {}

bool governor::harvests(std::uint64_t step) {
  std::uint64_t const number = step / options_.steps_a_spell;
  if (open_.empty() || open_.back().number != number) {
    if (open_.size() == max_open) open_.pop_front();
    open_.push_back({number, chance_, draw(options_.trainer, number) < chance_});
  }
  return open_.back().is_harvested;
}

void governor::took(std::uint64_t step, double ns) {
  std::uint64_t const number = step / options_.steps_a_spell;
  while (!open_.empty() && open_.front().number < number) {
    spell const before = open_.front();
    open_.pop_front();
    if (before.steps != 0) end(before);
  }
  if (open_.empty() || open_.front().number != number || !(ns > 0 && std::isfinite(ns))) return;
  ++open_.front().steps;
  open_.front().sum_ns += ns;
  if (open_.front().steps != options_.steps_a_spell) return;
  spell const whole = open_.front();
  open_.pop_front();
  end(whole);
}

void governor::end(spell const& of) {
  double const step_ns = of.sum_ns / of.steps;
  if (usual_ns_ == 0) usual_ns_ = step_ns;
  auto const known = estimate_.interval();
  double const slowdown = known && of.is_harvested ? std::max(known->estimate, 0.0) : 0;
  double const excess = step_ns / usual_ns_ - 1;
  ++ended_;
  estimate_.add(of.chance, of.is_harvested, excess);
  if (wary_ != 0) --wary_;
  if (of.is_harvested) {
    double const surprise = std::clamp((excess - slowdown) / spread_, -4.0, 6.0);
    surprise_ = std::max(0.0, surprise_ + surprise - expected_surprise);
    if (surprise_ > startling) {
      wary_ = wary_spells;
      surprise_ = 0;
    }
  }
  forecast(step_ns, of.is_harvested, slowdown);
  chance_ = next_chance();
}

/// Follows the trainer slowly: a single step that takes twice as long hardly moves it.
void governor::forecast(double step_ns, bool is_harvested, double slowdown) {
  double const off = step_ns / (1 + slowdown) / usual_ns_ - 1;
  usual_ns_ *= 1 + (is_harvested ? harvested_weight : withheld_weight) * std::clamp(off, -3 * spread_, 3 * spread_);
  // 1.25: standard deviations for each mean deviation, if normal.
  spread_ += spread_weight * (1.25 * std::min(std::abs(off), 4 * spread_) - spread_);
  spread_ = std::max(spread_, least_spread);
}

double governor::next_chance() const {
  auto const known = estimate_.interval();
  if (!known) return first_chance;
  double const high = std::max(known->high, 1e-9);
  double const bound = options_.max_slowdown;
  double const spare =
      bound * static_cast<double>(ended_) - estimate_.loss() - reserve * std::max(known->estimate, 0.0);
  double const allowed = std::clamp(bound + spare / horizon, 0.0, aim * bound);
  // The nearer the bound, the closer it has to look.
  double const withheld = std::max(options_.min_withheld, near_withheld * std::min(high / bound, 1.0));
  double const most = wary_ != 0 ? std::min(1 - withheld, wary_chance) : 1 - withheld;
  return std::max(std::min(most, allowed / high), least_chance);
}

}  // namespace lull
