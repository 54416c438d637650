// SPDX-License-Identifier: Apache-2.0
#include <lull/host/govern/governor.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include <lull/host/error.hpp>

namespace lull {

namespace {

constexpr double assumed_chance = 0.5;  // at most, while it is only supposed: it is soonest known if half are harvested
constexpr double least_chance = 2e-4;
constexpr double never = 1e-9;              // where a spell is assumed to cost more than can be paid for
constexpr double devouring = 0.3;           // excess of two of the first harvested spells that ends the start
constexpr std::uint64_t learning = 3;       // spells that only set the forecast: a trainer's first steps are slow
constexpr std::uint64_t before_noise = 60;  // spells until the noise rests more on measurements than on assumptions
// A kind's first harvested spells count as losses and for nothing else: if they were far costlier than later ones, few
// spells would ever outweigh them (docs/decisions/governor.md).
constexpr std::uint64_t warm_up_spells = 4;
constexpr double max_excess = 2;
constexpr int max_off_in_a_row = 6;     // spells: after that the trainer's steps have another length
constexpr double aim = 0.9;             // of the bound: about a tenth stays unseen, in the step after a spell
constexpr double reserve = 6;           // harvested spells that could be paid for at any time
constexpr double horizon = 40;          // spells within which a loss is recovered
constexpr double near_withheld = 0.12;  // share of spells, where the slowdown may be as high as the bound
// With half of the blocks, relative to all. Products did 0.62, PageRank 0.67 and streaming 0.69
// (docs/decisions/governor.md).
constexpr double speed_of_half = 0.6;
constexpr double worth_a_change = 1.25;  // a change must do this much more
constexpr std::uint64_t trial = 64;      // spells of half, as every second one; then, and of the other size, every 16th
constexpr std::uint64_t try_every = 16, try_often = 4;
constexpr double withheld_weight = 0.2, harvested_weight = 0.06;  // of the last spell in the forecast
constexpr double spread_weight = 0.05;
constexpr double least_spread = 1e-4;
// A cumulative sum of surprises tells a rise (Page, Biometrika 41, 1954).
constexpr double expected_surprise = 0.75, startling = 3.5;  // units: spreads, or what the bound has room for
constexpr double room_a_unit = 0.6;                          // … of the room that is left
constexpr std::uint32_t wary_spells = 24;
constexpr double wary_chance = 0.3;

/// Uniform in [0, 1) (SplitMix64: Steele, Lea and Flood, OOPSLA 2014).
double draw(std::uint64_t seed, std::uint64_t spell) {
  std::uint64_t z = seed + (spell + 1) * 0x9e3779b97f4a7c15;
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
    throw usage_error{"min_withheld is " + std::to_string(asked.min_withheld) + ": it must be above 0 and at most 0.5"};
  }
  return asked;
}

}  // namespace

governor::governor(governor_options const& options) : options_(checked(options)) {}

side_work governor::decide(std::uint64_t step, std::uint64_t kind, bool may_halve) {
  std::uint64_t const number = step / options_.steps_a_spell;
  if (!open_.empty() && number < open_.back().number) open_.clear();  // the trainer counts from the start again
  if (open_.empty() || open_.back().number != number) {
    bool const half = may_halve && runs_half(number, kind);
    double const chance = this->chance(kind, half);
    if (open_.size() == max_open) open_.pop_front();
    open_.push_back({number, kind, chance, draw(options_.draw_seed, number) < chance, half, may_halve});
  }
  spell const& now = open_.back();
  return !now.is_harvested ? side_work::none : now.is_half ? side_work::half : side_work::all;
}

std::optional<slowdown_interval> governor::interval(std::uint64_t kind, bool half) const {
  appetite const* const found = find(kind);
  return found != nullptr ? found->of(half).estimate.interval() : std::nullopt;
}

bool governor::is_halved(std::uint64_t kind) const noexcept {
  appetite const* const found = find(kind);
  return found != nullptr && found->is_halved;
}

/// Ranks try the other size in the same spells, because side work on one rank slows the others.
bool governor::runs_half(std::uint64_t number, std::uint64_t kind) const noexcept {
  appetite const* const found = find(kind);
  if (found == nullptr || !half_may_be_worth_it(*found)) return false;
  if (found->half.estimate.spells() < trial) return number % 2 == 0;
  // A half that may always run cannot improve, and all blocks may have become as cheap.
  auto const known = found->half.estimate.interval();
  bool const has_room = found->is_halved && known && share_within_bound(known->estimate) == share_within_bound(0);
  return found->is_halved != (number % (has_room ? try_often : try_every) == 0);
}

/// Returns whether half could do more than all if it cost nothing.
bool governor::half_may_be_worth_it(appetite const& of) const noexcept {
  auto const known = of.all.estimate.interval();
  return known && speed_of_half * share_within_bound(0) > worth_a_change * share_within_bound(known->low);
}

void governor::took(std::uint64_t step, double ns) {
  std::uint64_t const number = step / options_.steps_a_spell;
  if (open_.empty() || number > open_.back().number || !(ns >= 1 && ns <= 1e15)) return;
  while (!open_.empty() && open_.front().number < number) {
    spell const before = open_.front();
    open_.pop_front();
    if (before.steps != 0) end(before);
  }
  if (open_.empty() || open_.front().number != number) return;
  ++open_.front().steps;
  open_.front().sum_ns += ns;
  if (open_.front().steps != options_.steps_a_spell) return;
  spell const whole = open_.front();
  open_.pop_front();
  end(whole);
}

std::optional<double> governor::noise() const {
  if (ended_ < before_noise) return std::nullopt;
  return spread_ * std::sqrt(static_cast<double>(options_.steps_a_spell));
}

std::uint64_t governor::steps_to_know(std::uint64_t kind, bool half) const {
  if (ended_ < before_noise) return 0;
  double const spells = slowdown_estimate::spells_to_know(options_.max_slowdown / 2, chance(kind, half), spread_);
  return static_cast<std::uint64_t>(spells * options_.steps_a_spell);
}

void governor::assume_slowdown(std::uint64_t kind, assumed_slowdown what) {
  what.slowdown = std::max(what.slowdown, 1e-9);
  assumed_[kind] = what;
}

bool governor::has_idea_of(std::uint64_t kind) const {
  auto const assumed = assumed_.find(kind);
  return (assumed != assumed_.end() && !assumed->second.is_at_least) || interval(kind);
}

/// Uses the first spells for the forecast; returns true while it does.
bool governor::learn_usual(double step_ns) {
  if (ended_++ >= learning) return false;
  usual_ns_ = ended_ == 1 ? step_ns : std::min(usual_ns_, step_ns);
  return true;
}

governor::appetite const* governor::find(std::uint64_t kind) const noexcept {
  auto const found =
      std::find_if(appetites_.rbegin(), appetites_.rend(), [&](auto const& of) { return of.kind == kind; });
  return found != appetites_.rend() ? &*found : nullptr;
}

governor::appetite& governor::of_kind(std::uint64_t kind) {
  auto const found =
      std::find_if(appetites_.begin(), appetites_.end(), [&](auto const& of) { return of.kind == kind; });
  if (found != appetites_.end()) {
    appetites_.splice(appetites_.end(), appetites_, found);
    return appetites_.back();
  }
  if (appetites_.size() == max_kinds) {
    forgotten_ += appetites_.front().loss();
    appetites_.pop_front();
  }
  appetites_.emplace_back().kind = kind;
  return appetites_.back();
}

void governor::harvested_spells::add(double more) noexcept {
  ++count;
  devoured += more > devouring ? 1 : 0;
  excess += more;
}

double governor::of_size::loss() const noexcept {
  return estimate.interval() ? estimate.loss() : std::max(first.excess, 0.0);
}

double governor::loss() const noexcept {
  double sum = forgotten_;
  for (appetite const& of : appetites_) sum += of.loss();
  return sum;
}

void governor::end(spell const& of) {
  double const step_ns = of.sum_ns / of.steps;
  if (learn_usual(step_ns)) return;
  appetite& its_kind = of_kind(of.kind);
  of_size& its = of.is_half ? its_kind.half : its_kind.all;
  auto const known = its.estimate.interval();
  double const slowdown = known && of.is_harvested ? std::max(known->estimate, 0.0) : 0;
  double const excess = std::min(step_ns / usual_ns_ - 1, max_excess);
  if (its_kind.warm_up.count < warm_up_spells) {
    if (of.is_harvested) its_kind.warm_up.add(excess);
    forecast(step_ns, of.is_harvested, 0);
    return;
  }
  its.estimate.add(of.chance, of.is_harvested, excess);
  if (of.is_harvested && !known) its.first.add(excess);
  if (its.wary != 0) --its.wary;
  if (of.is_harvested) {
    // What the bound allows is no surprise: a small rise, or outliers of that size.
    double const unit = std::max(spread_, room_a_unit * (options_.max_slowdown - slowdown));
    double const surprise = std::clamp((excess - slowdown) / unit, -4.0, 6.0);
    its.surprise = std::max(0.0, its.surprise + surprise - expected_surprise);
    if (its.surprise > startling) {
      its.wary = wary_spells;
      its.surprise = 0;
    }
  }
  forecast(step_ns, of.is_harvested, slowdown);
  if (of.may_halve) choose_size(its_kind);
}

/// Returns the share of spells that the bound allows, by the estimated slowdown without its uncertainty.
double governor::share_within_bound(double slowdown) const noexcept {
  return std::min(1 - options_.min_withheld, aim * options_.max_slowdown / std::max(slowdown, 1e-9));
}

void governor::choose_size(appetite& of) const noexcept {
  auto const all = of.all.estimate.interval();
  auto const half = of.half.estimate.interval();
  if (!all || !half || of.half.estimate.spells() < trial) return;
  double const done = share_within_bound(all->estimate);
  double const done_by_half = speed_of_half * share_within_bound(half->estimate);
  of.is_halved = done_by_half > (of.is_halved ? 1 : worth_a_change) * done;
}

/// Adapts the forecast slowly: a single step that takes twice as long hardly changes it.
void governor::forecast(double step_ns, bool is_harvested, double slowdown) {
  double const off = step_ns / (1 + slowdown) / usual_ns_ - 1;
  if (std::abs(off) <= 3 * spread_) {
    off_in_a_row_ = 0;
  } else {
    bool const goes_on = (off > 0) == (off_in_a_row_ > 0);
    off_in_a_row_ = (goes_on ? off_in_a_row_ : 0) + (off > 0 ? 1 : -1);
  }
  if (std::abs(off_in_a_row_) == max_off_in_a_row) {
    usual_ns_ *= 1 + off;
    off_in_a_row_ = 0;
    return;
  }
  usual_ns_ *= 1 + (is_harvested ? harvested_weight : withheld_weight) * std::clamp(off, -3 * spread_, 3 * spread_);
  // 1.25 standard deviations are one mean deviation of a normal distribution.
  spread_ += spread_weight * (1.25 * std::min(std::abs(off), 4 * spread_) - spread_);
  spread_ = std::max(spread_, least_spread);
}

double governor::chance(std::uint64_t kind, bool half) const {
  if (open_.size() == max_open) return least_chance;  // until lengths come in again
  static appetite const unknown;
  appetite const* const found = find(kind);
  appetite const& its_kind = found != nullptr ? *found : unknown;
  of_size const& of = its_kind.of(half);
  if (auto const known = of.estimate.interval())
    return std::max(affordable(of, std::max(known->estimate, 0.0), std::max(known->high, 1e-9)), least_chance);
  harvested_spells const warm_up = half ? harvested_spells{} : its_kind.warm_up;
  if (std::uint64_t const devoured = of.first.devoured + warm_up.devoured;
      devoured >= 2 && 2 * devoured >= of.first.count + warm_up.count) {
    double const mean = std::max(of.first.mean(), warm_up.mean());
    return std::max(affordable(of, mean, mean), least_chance);
  }
  if (auto const idea = assumed(kind, half)) {
    double const seen = of.first.count >= 2 ? of.first.mean() - spread_ : 0;  // at least
    double const slowdown = std::max(idea->slowdown, seen);
    double const most = idea->is_at_least ? first_chance : assumed_chance;
    return std::clamp(affordable(of, slowdown, slowdown), never, most);
  }
  // Recover what other kinds lost before trying a new one.
  bool const is_in_debt = loss() - its_kind.loss() > aim * options_.max_slowdown * static_cast<double>(ended_);
  return is_in_debt ? least_chance : first_chance;
}

/// Half of the blocks cost at most what all of them do.
std::optional<governor::assumed_slowdown> governor::assumed(std::uint64_t kind, bool half) const {
  auto const of_all = half ? interval(kind) : std::nullopt;
  if (of_all) return assumed_slowdown{std::max(of_all->estimate, 1e-9)};
  auto const told = assumed_.find(kind);
  return told != assumed_.end() ? std::optional{told->second} : std::nullopt;
}

/// Returns what the bound allows if side work costs this much of a step.
double governor::affordable(of_size const& of, double slowdown, double high) const {
  double const bound = options_.max_slowdown;
  double const spare = bound * static_cast<double>(ended_) - loss() - reserve * slowdown;
  double const allowed = std::clamp(bound + spare / horizon, 0.0, aim * bound);
  // The nearer the bound, the more spells are withheld.
  double const withheld = std::max(options_.min_withheld, near_withheld * std::min(high / bound, 1.0));
  double const most = of.wary != 0 ? std::min(1 - withheld, wary_chance) : 1 - withheld;
  return std::min(most, allowed / high);
}

}  // namespace lull
