// SPDX-License-Identifier: Apache-2.0
#include <lull/host/govern/slowdown_estimate.hpp>

#include <algorithm>
#include <cmath>

namespace lull {

namespace {

constexpr double miss = 0.05;                   // chance that the interval ever misses the slowdown
constexpr double tuned_to = 60;                 // spells: the boundary is then tightest at about 500
constexpr std::uint64_t least_draws = 5;        // of either kind
constexpr std::uint64_t min_late = 8;           // draws that may show a change
constexpr std::uint64_t min_late_of_fall = 64;  // spells: a rise must be seen sooner than a fall
constexpr double rise = 3, fall = 4;            // standard errors that show a change
constexpr double least_fall = 0.1;              // of what is likely carried: a smaller one is not worth forgetting for
constexpr double few = 4;                       // draws of the rarer kind that show half of their variance
constexpr double max_spells = 1e9;
constexpr double cut_at = 4;           // spreads
constexpr double clearly = 3;          // standard errors
constexpr double max_prior = 1.5;      // evidence: where noise hides much, too much would be believed to be carried
constexpr double unlikely = 4;         // noise variances by which a worse fit explains less
constexpr double between = 0.07;       // of what is carried: the decay lies between two that are fitted
constexpr double usual_inflation = 3;  // of the error by what is carried, while nothing is known

/// Returns how far the sum may stray at any time, in its standard deviations.
double boundary(double spells) {
  double const n = spells / tuned_to;
  return std::sqrt((1 + 1 / n) * (std::log1p(n) - 2 * std::log(miss)));
}

}  // namespace

slowdown_estimate::slowdown_estimate(std::uint32_t steps_a_spell, double likely) : likely_(likely) {
  for (std::size_t at = 0; at < decay_steps.size(); ++at) {
    double const a_step = std::exp(-1 / decay_steps[at]);
    double left = 1;
    for (std::uint32_t step = 0; step < steps_a_spell; ++step) carries_[at].in_spell += left *= a_step;
    carries_[at].in_spell /= steps_a_spell;
    carries_[at].at_end = left;
  }
}

slowdown_estimate::sums slowdown_estimate::sums::operator-(sums const& other) const noexcept {
  sums rest{.spells = spells - other.spells,
            .harvested = harvested - other.harvested,
            .draws = draws - other.draws,
            .harvested_draws = harvested_draws - other.harvested_draws,
            .cut_off = cut_off - other.cut_off,
            .cut_off2 = cut_off2 - other.cut_off2};
  for (std::size_t at = 0; at < fits.size(); ++at) rest.fits[at] = fits[at] - other.fits[at];
  return rest;
}

bool slowdown_estimate::sums::can_tell() const noexcept {
  return harvested_draws >= least_draws && draws - harvested_draws >= least_draws &&
         std::any_of(fits.begin(), fits.end(), [](carry_fit const& each) { return each.can_tell(); });
}

std::size_t slowdown_estimate::sums::best() const noexcept {
  auto const least = std::min_element(fits.begin(), fits.end(), [](carry_fit const& a, carry_fit const& b) {
    return a.can_tell() && (!b.can_tell() || a.left() < b.left());
  });
  return static_cast<std::size_t>(least - fits.begin());
}

bool slowdown_estimate::sums::is_plausible(std::size_t at, std::size_t best) const noexcept {
  if (!fits[at].can_tell()) return false;
  double const left = fits[best].left();
  return fits[at].left() - left <= unlikely * std::max(left, 1e-12) / static_cast<double>(spells);
}

double slowdown_estimate::sums::unseen(double draws_worth) const noexcept {
  return 1 + draws_worth / static_cast<double>(std::min(harvested_draws, draws - harvested_draws));
}

double slowdown_estimate::sums::outlying() const noexcept {
  bool const is_clear = cut_off * cut_off > clearly * clearly * unseen(few) * cut_off2;
  return is_clear ? cut_off / fits[0].weight() : 0;
}

double slowdown_estimate::sums::total(std::size_t at) const noexcept { return fits[at].found().total() + outlying(); }

double slowdown_estimate::sums::error2(std::size_t at) const noexcept {
  double const weight = fits[at].weight();
  return fits[at].error2() + (outlying() != 0 ? cut_off2 / (weight * weight) : 0);
}

double slowdown_estimate::sums::loss() const noexcept {
  return can_tell() ? static_cast<double>(harvested) * std::max(std::expm1(total(best())), 0.0) : 0;
}

void slowdown_estimate::begin(spell_draw const& draw) {
  if (draw.is_new) end_draw();
  now_ = draw;
  double const harvested = draw.is_harvested ? 1 : 0;
  double const drawn = draw.chance > 0 ? harvested - draw.chance : 0;
  for (carry& each : carries_) {
    each.mean_carried = harvested + (each.carried - harvested) * each.in_spell;
    each.mean_drawn = drawn + (each.drawn - drawn) * each.in_spell;
    each.carried = harvested + (each.carried - harvested) * each.at_end;
    each.drawn = drawn + (each.drawn - drawn) * each.at_end;
  }
}

double slowdown_estimate::expected() const noexcept {
  carry const& of = carries_[best_];
  return known_.here * ((now_.is_harvested ? 1 : 0) - in_forecast_) +
         known_.carried * (of.mean_carried - of.in_forecast);
}

double slowdown_estimate::in_forecast() const noexcept {
  return known_.here * in_forecast_ + known_.carried * carries_[best_].in_forecast;
}

/// Cuts outliers off: a checkpoint or a pause of the trainer. What recurs in spells of one kind alone is none.
double slowdown_estimate::within_limits(double deviation, double spread) {
  double const least = expected() - cut_at * spread;
  double const most = expected() + cut_at * spread;
  int const side = deviation > most ? 1 : deviation < least ? -1 : 0;
  outliers& its = outliers_[now_.is_harvested ? 1 : 0];
  outliers& others = outliers_[now_.is_harvested ? 0 : 1];
  bool const recurs = side != 0 && side == its.side && its.is_of_one_kind;
  if (side != its.side) its = {.side = side};
  if (side != others.side) others.is_of_one_kind = true;
  return recurs ? deviation : std::clamp(deviation, least, most);
}

bool slowdown_estimate::add(double deviation, double spread) {
  double const harvested = now_.is_harvested ? 1 : 0;
  double const drawn = harvested - now_.chance;
  double const used = within_limits(deviation, spread);
  for (std::size_t at = 0; at < carries_.size(); ++at) {
    carry const& of = carries_[at];
    all_.fits[at].add(used, {.here = harvested - in_forecast_,
                             .carried = of.mean_carried - of.in_forecast,
                             .drawn_here = drawn,
                             .drawn_carried = of.mean_drawn});
  }
  spread_ = spread;
  cut_off_of_draw_ += drawn * (deviation - used);
  ++spells_of_draw_;
  return used == deviation;
}

void slowdown_estimate::follow(double weight) {
  in_forecast_ += weight * ((now_.is_harvested ? 1 : 0) - in_forecast_);
  for (carry& each : carries_) each.in_forecast += weight * (each.mean_carried - each.in_forecast);
}

void slowdown_estimate::end_draw() {
  if (spells_of_draw_ == 0) return;
  double const prior = std::min(max_prior, spread_ * spread_ / (likely_ * likely_));
  sums const before = all_;
  all_.spells += spells_of_draw_;
  all_.harvested += now_.is_harvested ? spells_of_draw_ : 0;
  ++all_.draws;
  all_.harvested_draws += now_.is_harvested ? 1 : 0;
  all_.cut_off += cut_off_of_draw_;
  all_.cut_off2 += cut_off_of_draw_ * cut_off_of_draw_;
  for (carry_fit& each : all_.fits) each.end_draw(prior);
  spells_of_draw_ = 0;
  cut_off_of_draw_ = 0;
  if (before_.size() < kept) {
    before_.push_back(before);
  } else {
    before_[before.draws % kept] = before;
  }
  forget_what_has_changed();
  sums const now = remembered();
  bool const is_known = now.can_tell();
  best_ = is_known ? now.best() : 0;
  known_ = is_known ? now.fits[best_].found() : carry_fit::effects{};
}

std::optional<slowdown_interval> slowdown_estimate::interval() const {
  sums const now = remembered();
  if (!now.can_tell()) return std::nullopt;
  std::size_t const best = now.best();
  double const estimate = now.total(best);
  double low = estimate;
  double high = estimate;
  for (std::size_t at = 0; at < now.fits.size(); ++at) {
    if (!now.is_plausible(at, best)) continue;
    double const half = std::sqrt(now.unseen(few) * now.error2(at)) * boundary(static_cast<double>(now.spells)) +
                        between * std::abs(now.fits[at].found().carried);
    low = std::min(low, now.total(at) - half);
    high = std::max(high, now.total(at) + half);
  }
  return slowdown_interval{std::expm1(low), std::expm1(estimate), std::expm1(high)};
}

double slowdown_estimate::spells_to_know(double half, double chance, double spread) const {
  double inflation = usual_inflation;
  if (sums const now = remembered(); now.can_tell() && spread_ > 0) {
    std::size_t const best = now.best();
    double error2 = 0;
    for (std::size_t at = 0; at < now.fits.size(); ++at) {
      if (now.is_plausible(at, best)) error2 = std::max(error2, now.error2(at));
    }
    inflation = std::max(std::sqrt(error2 * now.fits[best].weight()) / spread_, 1.0);
  }
  double const evenness = chance * (1 - chance);
  double spells = 2 * least_draws / evenness;
  for (; spells < max_spells; spells *= 1.05) {
    double const unseen = 1 + few / (spells * std::min(chance, 1 - chance));
    if (inflation * spread * std::sqrt(unseen / (spells * evenness)) * boundary(spells) <= half) break;
  }
  return std::min(spells, max_spells);
}

double slowdown_estimate::loss() const noexcept { return forgotten_loss_ + remembered().loss(); }

void slowdown_estimate::forget_what_has_changed() {
  std::uint64_t const draws = remembered().draws;
  for (std::uint64_t late = min_late; late < kept && late + min_late <= draws; late *= 2) {
    sums const& split = before_[(all_.draws - late) % kept];
    sums const recent = all_ - split;
    sums const early = split - forgotten_;
    if (!recent.can_tell() || !early.can_tell()) continue;
    carry_fit const &now = recent.fits[0], &before = early.fits[0];
    double const more = now.direct() - before.direct();
    if (more < 0 && (recent.spells < min_late_of_fall || -more < least_fall * likely_)) continue;
    double const errors = more > 0 ? rise : fall;
    // The longer it looks, the more often chance alone looks like a change.
    double const allowed2 = errors * errors + 2 * std::log1p(static_cast<double>(draws) / 100);
    double const error2 = recent.unseen(few) * now.direct_error2() + early.unseen(few) * before.direct_error2();
    if (more * more <= allowed2 * error2) continue;
    forgotten_loss_ += early.loss();
    forgotten_ = split;
    if (more < 0) {  // the forecast still comes down, which would look like something carried
      forgotten_loss_ += recent.loss();
      forgotten_ = all_;
    }
    return;
  }
}

}  // namespace lull
