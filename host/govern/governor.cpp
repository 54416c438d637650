// SPDX-License-Identifier: Apache-2.0
#include <lull/host/govern/governor.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include <lull/host/error.hpp>

namespace lull {

namespace {

constexpr double assumed_chance = 0.5;  // at most, while it is only supposed: it is soonest known if half are harvested
constexpr double least_chance = 2e-4;
constexpr double never = 1e-9;              // where a spell is assumed to cost more than can be paid for
constexpr double devouring = 0.3;           // excess of two of the first harvested spells that ends the start
constexpr std::uint64_t before_noise = 60;  // spells until the noise rests more on measurements than on assumptions
// A kind's first harvested spells count as losses and for nothing else: if they were far costlier than later ones, few
// spells would ever outweigh them (docs/decisions/governor.md).
constexpr std::uint64_t warm_up_spells = 4;
constexpr double max_excess = 2;
constexpr double least_work = 1e-100, max_work = 1e100;  // sums stay finite
constexpr double aim = 0.9;                              // of the bound: a tenth for what is not known
constexpr double reserve = 6;                            // harvested spells that could be paid for at any time
constexpr double horizon = 40;                           // spells within which a loss is recovered
// Spells that share a draw, at most: so many; so small a share of what the bound allows so far, or within so many
// spells; and so small a share of the spells so far.
constexpr double max_draw = 64, draw_cost = 0.03, draw_horizon = 160, least_draws = 8;
constexpr double spells_between_withheld = 256;  // else a slow rise would be taken for drift
constexpr double likely_carried = 2;             // of the bound: what side work may well cost later steps
constexpr double near_withheld = 0.12;           // share of spells, where the slowdown may be as high as the bound
constexpr double unknown_withheld = 0.125;       // … under a cap, until there is an interval
// With half of the blocks, relative to all. Products did 0.62, PageRank 0.67 and streaming 0.69
// (docs/decisions/governor.md).
constexpr double speed_of_half = 0.6;
constexpr double worth_a_change = 1.25;  // a change must do this much more
constexpr std::uint64_t trial = 64;      // spells of half, as every second one; then, and of the other size, every 16th
constexpr std::uint64_t try_every = 16, try_often = 4;
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
    draw_for(number, kind, may_halve);
    if (open_.size() == max_open) open_.pop_front();
    open_.push_back(drawn_);
  }
  spell const& now = open_.back();
  return !now.is_harvested ? side_work::none : now.is_half ? side_work::half : side_work::all;
}

/// Sets `drawn_`. Side work that has become suspicious ends the draw that lets it run.
void governor::draw_for(std::uint64_t number, std::uint64_t kind, bool may_halve) {
  bool const is_next = number > drawn_.number && number < draw_ends_ && open_.size() < max_open;
  appetite const* const found = find(kind);
  bool const is_suspicious = drawn_.is_harvested && found != nullptr && found->of(drawn_.is_half).wary != 0;
  if (is_next && kind == drawn_.kind && may_halve == drawn_.may_halve && !is_suspicious) {
    drawn_.number = number;
    return;
  }
  // Draws begin where ranks begin them, too, and no number is drawn for twice.
  std::uint64_t spells = spells_a_draw(kind, may_halve);
  while (number % spells != 0) spells /= 2;
  draw_ends_ = number + spells;
  bool const half = may_halve && runs_half(number / spells, kind);
  double const chance = this->chance(kind, half);
  drawn_ = {.number = number,
            .kind = kind,
            .chance = chance,
            .is_harvested = draw(options_.draw_seed, number) < chance,
            .is_half = half,
            .may_halve = may_halve,
            .draw = drawn_.draw + 1};
}

/// Returns a power of two: draws of ranks begin together.
std::uint64_t governor::spells_a_draw(std::uint64_t kind, bool may_halve) const {
  appetite const* const found = find(kind);
  if (found == nullptr) return 1;
  double const ended = static_cast<double>(ended_);
  double most = std::min({max_draw, ended / least_draws, spells_between_withheld * (1 - chance(kind, false))});
  for (of_size const* const size : {&found->all, &found->half}) {
    auto const known = size->estimate.interval();
    if (size == &found->half && (!may_halve || !known)) continue;
    if (!known || size->wary != 0 || size->surprising.count >= 2) return 1;
    double const slowdown = std::max((known->estimate + known->high) / 2, 1e-9);
    most = std::min(most, options_.max_slowdown / slowdown * std::min(draw_cost * ended, draw_horizon));
  }
  std::uint64_t spells = 1;
  while (2 * static_cast<double>(spells) <= most) spells *= 2;
  return spells;
}

std::optional<slowdown_interval> governor::interval(std::uint64_t kind, bool half) const {
  appetite const* const found = find(kind);
  return found != nullptr ? found->of(half).estimate.interval() : std::nullopt;
}

bool governor::is_halved(std::uint64_t kind) const noexcept {
  appetite const* const found = find(kind);
  return found != nullptr && found->is_halved;
}

/// Ranks try the other size in the same draws, because side work on one rank slows the others.
bool governor::runs_half(std::uint64_t draw, std::uint64_t kind) const noexcept {
  appetite const* const found = find(kind);
  if (found == nullptr || !half_may_be_worth_it(*found)) return false;
  if (found->half.estimate.spells() < trial) return draw % 2 == 0;
  // A half that may always run cannot improve, and all blocks may have become as cheap.
  auto const known = found->half.estimate.interval();
  bool const has_room = found->is_halved && known && share_within_bound(known->estimate) == share_within_bound(0);
  return found->is_halved != (draw % (has_room ? try_often : try_every) == 0);
}

/// Returns whether half could do more than all if it cost nothing.
bool governor::half_may_be_worth_it(appetite const& of) const noexcept {
  auto const known = of.all.estimate.interval();
  return known && speed_of_half * share_within_bound(0) > worth_a_change * share_within_bound(known->low);
}

void governor::took(std::uint64_t step, double ns, double work) {
  std::uint64_t const number = step / options_.steps_a_spell;
  if (open_.empty() || number > open_.back().number || !(ns >= 1 && ns <= 1e15)) return;
  while (!open_.empty() && open_.front().number < number) {
    spell const before = open_.front();
    open_.pop_front();
    if (before.steps != 0) end(before);
  }
  if (open_.empty() || open_.front().number != number) return;
  spell& its = open_.front();
  ++its.steps;
  its.sum_ns += ns;
  if (work >= least_work && work <= max_work) {
    ++its.works;
    its.sum_work += work;
  }
  if (its.steps != options_.steps_a_spell) return;
  spell const whole = its;
  open_.pop_front();
  end(whole);
}

std::optional<double> governor::noise() const {
  if (ended_ < before_noise) return std::nullopt;
  return forecast_.spread() * std::sqrt(static_cast<double>(options_.steps_a_spell));
}

std::uint64_t governor::steps_to_know(std::uint64_t kind, bool half) const {
  if (ended_ < before_noise) return 0;
  appetite const* const found = find(kind);
  if (found == nullptr) return steps_to_know_at(unknown_estimate(), chance(kind, half));
  return steps_to_know_at(found->of(half).estimate, chance(kind, half));
}

std::uint64_t governor::steps_to_know_at_best() const {
  return ended_ < before_noise ? 0 : steps_to_know_at(unknown_estimate(), 0.5);
}

std::uint64_t governor::steps_to_know_at(slowdown_estimate const& of, double chance) const {
  double const spells = of.spells_to_know(options_.max_slowdown / 2, chance, forecast_.spread());
  return static_cast<std::uint64_t>(spells * options_.steps_a_spell);
}

slowdown_estimate governor::unknown_estimate() const {
  return {options_.steps_a_spell, likely_carried * options_.max_slowdown};
}

void governor::assume_slowdown(std::uint64_t kind, assumed_slowdown what) {
  what.slowdown = std::max(what.slowdown, 1e-9);
  assumed_[kind] = what;
}

bool governor::has_idea_of(std::uint64_t kind) const {
  auto const assumed = assumed_.find(kind);
  return (assumed != assumed_.end() && !assumed->second.is_at_least) || interval(kind);
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
  slowdown_estimate const unknown = unknown_estimate();
  return appetites_.emplace_back(appetite{.kind = kind, .all = {.estimate = unknown}, .half = {.estimate = unknown}});
}

void governor::harvested_spells::add(double more) noexcept {
  ++count;
  devoured += more > devouring ? 1 : 0;
  excess += more;
}

double governor::of_size::loss() const noexcept { return estimate.loss() + std::max(first.excess, 0.0); }

double governor::loss() const noexcept {
  double sum = forgotten_;
  for (appetite const& of : appetites_) sum += of.loss();
  return sum;
}

void governor::end(spell const& of) {
  step_forecast::spell const took{.step_ns = of.sum_ns / of.steps, .work = of.works == 0 ? 0 : of.sum_work / of.works};
  ++ended_;
  if (forecast_.learns(took)) return;
  appetite& its_kind = of_kind(of.kind);
  of_size& its = of.is_half ? its_kind.half : its_kind.all;
  bool const counts = its_kind.warm_up.count >= warm_up_spells;
  bool const is_new = std::exchange(ended_draw_, of.draw) != of.draw;
  double expected = 0;
  double own = 0;
  double in_forecast = 0;
  for (appetite& kind : appetites_) {
    for (of_size* const size : {&kind.all, &kind.half}) {
      in_forecast += size->estimate.in_forecast();
      bool const is_this = size == &its;
      size->estimate.begin({.chance = is_this && counts ? of.chance : 0,
                            .is_harvested = is_this && of.is_harvested,
                            .is_new = is_new || !is_this});
      expected += size->estimate.expected();
      own += is_this ? size->estimate.expected() : 0;
    }
  }
  double const deviation = forecast_.deviation(took);
  double const excess = std::min(std::expm1(deviation + in_forecast), max_excess);  // over a step without side work
  if (counts) {
    if (its.estimate.interval()) {
      its.first = {};
    } else if (of.is_harvested) {
      its.first.add(excess);
    }
    bool const is_outlier = !its.estimate.add(deviation - (expected - own), forecast_.spread());
    if (its.wary != 0) --its.wary;
    if (of.is_harvested) watch(its, deviation - expected);
    if (of.is_harvested && !is_outlier) {
      if (deviation - expected > unit_of_surprise(its)) {
        its.surprising.add(excess);
      } else {
        its.surprising = {};
      }
    }
    if (of.may_halve) choose_size(its_kind);
  } else if (of.is_harvested) {
    its_kind.warm_up.add(excess);
  }
  double const weight = forecast_.follow(took, deviation, deviation - expected);
  for (appetite& kind : appetites_) {
    for (of_size* const size : {&kind.all, &kind.half}) size->estimate.follow(weight);
  }
}

/// Becomes wary where harvested spells take longer than expected.
void governor::watch(of_size& its, double unexplained) {
  double const units = unexplained / unit_of_surprise(its);
  its.surprise = std::max(0.0, its.surprise + std::clamp(units, -4.0, 6.0) - expected_surprise);
  if (its.surprise <= startling) return;
  its.wary = wary_spells;
  its.surprise = 0;
}

/// What the bound allows is no surprise: a small rise, or outliers of that size. Nor is a twentieth of the bound.
double governor::unit_of_surprise(of_size const& of) const {
  auto const known = of.estimate.interval();
  double const slowdown = known ? std::max(known->estimate, 0.0) : 0;
  double const room = options_.max_slowdown - slowdown;
  return std::max({forecast_.spread(), room_a_unit * room, options_.max_slowdown / 20});
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

double governor::chance(std::uint64_t kind, bool half) const {
  if (open_.size() == max_open && !options_.is_cap) return least_chance;  // until lengths come in again
  static slowdown_estimate const nothing{1, 1};
  static appetite const unknown{.all = {.estimate = nothing}, .half = {.estimate = nothing}};
  appetite const* const found = find(kind);
  appetite const& its_kind = found != nullptr ? *found : unknown;
  of_size const& of = its_kind.of(half);
  auto const known = of.estimate.interval();
  auto const idea = assumed(kind, half);
  if (options_.is_cap) {
    if (known) return within_cap(known->estimate, known->low);
    double const supposed = idea ? idea->slowdown : 0;
    return std::min(first_chance_of_a_kind(), within_cap(supposed, supposed));
  }
  if (known) return std::max(affordable(of, std::max(known->estimate, 0.0), std::max(known->high, 1e-9)), least_chance);
  if (auto const devoured = seen_to_devour(its_kind, half))
    return std::max(affordable(of, *devoured, *devoured), least_chance);
  if (idea) {
    double const seen = of.first.count >= 2 ? of.first.mean() - forecast_.spread() : 0;  // at least
    double const slowdown = std::max(idea->slowdown, seen);
    double const most = idea->is_at_least ? first_chance_of_a_kind() : assumed_chance;
    return std::clamp(affordable(of, slowdown, slowdown), never, most);
  }
  // Recover what other kinds lost before trying a new one.
  bool const is_in_debt = loss() - its_kind.loss() > aim * options_.max_slowdown * static_cast<double>(ended_);
  return is_in_debt ? least_chance : first_chance_of_a_kind();
}

double governor::first_chance_of_a_kind() const noexcept {
  return options_.is_cap ? 1 - unknown_withheld : first_chance;
}

/// Returns what the first harvested spells cost, if half of them, and two or more, took far longer than forecast.
std::optional<double> governor::seen_to_devour(appetite const& its_kind, bool half) {
  of_size const& of = its_kind.of(half);
  harvested_spells const warm_up = half ? harvested_spells{} : its_kind.warm_up;
  std::uint64_t const devoured = of.first.devoured + warm_up.devoured;
  if (devoured < 2 || 2 * devoured < of.first.count + warm_up.count) return std::nullopt;
  return std::max(of.first.mean(), warm_up.mean());
}

/// Returns the chance under a cap. The nearer the slowdown is to it, the more spells are withheld to know it better.
double governor::within_cap(double estimate, double low) const noexcept {
  double const cap = options_.max_slowdown;
  double const withheld = std::max(options_.min_withheld, near_withheld * std::clamp(estimate / cap, 0.0, 1.0));
  return low > cap ? std::clamp(aim * cap / estimate, least_chance, 1 - withheld) : 1 - withheld;
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
  if (of.surprising.count >= 2) {
    slowdown = std::max(slowdown, of.surprising.mean() - forecast_.spread());
    high = std::max(high, slowdown);
  }
  double const bound = options_.max_slowdown;
  double const spare = bound * static_cast<double>(ended_) - loss() - reserve * slowdown;
  double const allowed = std::clamp(bound + spare / horizon, 0.0, aim * bound);
  // The nearer the bound, the more spells are withheld.
  double const withheld = std::max(options_.min_withheld, near_withheld * std::min(high / bound, 1.0));
  double const most = of.wary != 0 ? std::min(1 - withheld, wary_chance) : 1 - withheld;
  return std::min(most, allowed / high);
}

}  // namespace lull
