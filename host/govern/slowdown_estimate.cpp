// SPDX-License-Identifier: Apache-2.0
#include <lull/host/govern/slowdown_estimate.hpp>

#include <algorithm>
#include <cmath>

namespace lull {

namespace {

constexpr double miss = 0.05;                   // chance that the interval ever misses the slowdown
constexpr double tuned_to = 60;                 // spells: the boundary is then tightest at about 500
constexpr std::uint64_t least_spells = 5;       // of either kind
constexpr std::uint64_t min_late = 8;           // spells that may show a change
constexpr std::uint64_t min_late_of_fall = 64;  // a rise must be seen sooner than a fall
constexpr double rise = 3, fall = 4;            // standard errors that show a change
constexpr double few = 12;                      // spells of the rarer kind that show half of their variance
constexpr double max_spells = 1e9;

/// Returns how far the sum may stray at any time, in its standard deviations.
double boundary(double spells) {
  double const n = spells / tuned_to;
  return std::sqrt((1 + 1 / n) * (std::log1p(n) - 2 * std::log(miss)));
}

}  // namespace

slowdown_estimate::sums slowdown_estimate::sums::operator-(sums const& other) const noexcept {
  sums left = *this;
  left.spells -= other.spells;
  left.harvested -= other.harvested;
  left.covariance -= other.covariance;
  left.weight -= other.weight;
  for (std::size_t at = 0; at < square.size(); ++at) left.square[at] -= other.square[at];
  return left;
}

bool slowdown_estimate::sums::can_tell() const noexcept {
  return harvested >= least_spells && spells - harvested >= least_spells;
}

double slowdown_estimate::sums::loss() const noexcept {
  return can_tell() ? static_cast<double>(harvested) * std::max(slowdown(), 0.0) : 0;
}

double slowdown_estimate::sums::variance() const noexcept {
  double const s = slowdown();
  return std::max(square[0] + s * (square[1] + s * square[2]), 0.0);
}

double slowdown_estimate::sums::unseen(double spells_worth) const noexcept {
  return 1 + spells_worth / static_cast<double>(std::min(harvested, spells - harvested));
}

double slowdown_estimate::sums::error2() const noexcept { return unseen(4) * variance() / (weight * weight); }

void slowdown_estimate::add(double chance, bool is_harvested, double excess) {
  before_[all_.spells % kept] = all_;
  double const centred = (is_harvested ? 1 : 0) - chance;
  ++all_.spells;
  all_.covariance += centred * excess;
  all_.square[0] += centred * centred * excess * excess;
  if (is_harvested) {
    ++all_.harvested;
    all_.weight += centred;
    all_.square[1] -= 2 * centred * centred * excess;
    all_.square[2] += centred * centred;
  }
  forget_what_has_changed();
}

std::optional<slowdown_interval> slowdown_estimate::interval() const {
  sums const now = remembered();
  if (!now.can_tell()) return std::nullopt;
  double const spells = static_cast<double>(now.spells);
  double const half = std::sqrt(now.unseen(few) * now.variance()) * boundary(spells) / now.weight;
  return slowdown_interval{now.slowdown() - half, now.slowdown(), now.slowdown() + half};
}

double slowdown_estimate::spells_to_know(double half, double chance, double spread) {
  double const evenness = chance * (1 - chance);
  double spells = 2 * least_spells / evenness;
  for (; spells < max_spells; spells *= 1.05) {
    double const unseen = 1 + few / (spells * std::min(chance, 1 - chance));
    if (spread * std::sqrt(unseen / (spells * evenness)) * boundary(spells) <= half) break;
  }
  return std::min(spells, max_spells);
}

double slowdown_estimate::loss() const noexcept { return forgotten_loss_ + remembered().loss(); }

void slowdown_estimate::forget_what_has_changed() {
  for (std::uint64_t late = min_late; late < kept && late + min_late <= spells(); late *= 2) {
    sums const& split = before_[(all_.spells - late) % kept];
    sums const recent = all_ - split;
    sums const early = split - forgotten_;
    if (!recent.can_tell() || !early.can_tell()) continue;
    double const more = recent.slowdown() - early.slowdown();
    if (more < 0 && late < min_late_of_fall) continue;
    double const errors = more > 0 ? rise : fall;
    // The longer it looks, the more often chance alone looks like a change.
    double const allowed2 = errors * errors + 2 * std::log1p(static_cast<double>(spells()) / 100);
    if (more * more <= allowed2 * (recent.error2() + early.error2())) continue;
    forgotten_loss_ += early.loss();
    forgotten_ = split;
    return;
  }
}

}  // namespace lull
