// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include <lull/host/govern/carry_fit.hpp>
#include <lull/host/step_report.hpp>

namespace lull {

/// The draw that decided whether a spell was harvested.
struct spell_draw {
  double chance = 0;  // below 1; 0: this side work was not up for a draw
  bool is_harvested = false;
  bool is_new = true;  // false: the spell shares the draw of the one before
};

/// Estimates how much longer a trainer's steps take if side work runs in all of them, what it costs later steps
/// included. It uses spells: a few steps in a row that were drawn to be
/// harvested, or not to be.
///
/// Chance and forecast of a spell depend on earlier spells alone, and the draw on nothing. So deviations from the
/// forecast, each weighted by how far the draws were from their chances, make sums that are martingales at the true
/// effects (carry_fit.hpp). The interval holds each slowdown for which
/// they are within Robbins' normal-mixture boundary, with their variance estimated from the same spells. That is an
/// asymptotic confidence sequence (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, Annals of Statistics 52, 2024). So
/// it is valid after each spell, and the chance may depend on it.
///
/// How fast the effect on later steps decays is not known: six decays from 2 to 32 steps are fitted, and the interval
/// holds those of all that fit about as well as the best. Spells that are far longer than the others, with and without
/// side work, count as if they were four spreads longer; what is cut off so counts where it clearly differs.
///
/// A slowdown has changed when the latest draws, 128 at most, differ from earlier ones by more than their spread
/// allows. Then the earlier ones are forgotten, after a fall the latest, too, and the interval starts again.
///
/// Where the trainer's noise goes on for many steps it is surer than it should be, mostly too high. Not thread-safe.
class slowdown_estimate {
 public:
  /// `likely`: how much of a step may well be carried over to later ones, as a share; more takes more evidence.
  slowdown_estimate(std::uint32_t steps_a_spell, double likely);

  /// Begins the next spell of the trainer. Call for each, also where this side work was not up for it.
  void begin(spell_draw const& draw);
  /// Returns by how much the spell is expected to deviate from the forecast because of this side work, as a logarithm.
  double expected() const noexcept;
  /// Returns how much this side work has raised the forecast, as a logarithm.
  double in_forecast() const noexcept;
  /// Adds the spell's deviation from the forecast, as a logarithm. `spread`: of spells around it. Returns whether it
  /// counts in full, so is no outlier.
  bool add(double deviation, double spread);
  /// The forecast moved towards the spell by that part of its deviation.
  void follow(double weight);

  /// Returns the 95 % interval, valid for all times together while nothing is forgotten. None before five draws of
  /// either kind.
  std::optional<slowdown_interval> interval() const;
  /// Returns after about how many spells of that chance the interval reaches `half` to either side, if their times
  /// scatter by `spread` around the forecast, as a share; at most 1e9.
  double spells_to_know(double half, double chance, double spread) const;
  /// Returns what side work has cost so far, in spells: each harvested spell at the slowdown now known for its time.
  double loss() const noexcept;
  /// Returns the number of spells on which the interval rests.
  std::uint64_t spells() const noexcept { return all_.spells - forgotten_.spells; }

 private:
  static constexpr std::array decay_steps{2.0, 4.0, 7.0, 12.0, 20.0, 32.0};

  /// Of one decay.
  struct carry {
    double in_spell = 0;                      // what is left in a spell of what was carried into it, in the mean
    double at_end = 0;                        // … and at its end
    double carried = 0, drawn = 0;            // at the end of the last spell
    double mean_carried = 0, mean_drawn = 0;  // in the spell under way
    double in_forecast = 0;
  };
  /// Spells that are far off, one after another, on one side.
  struct outliers {
    int side = 0;                 // of the last spell
    bool is_of_one_kind = false;  // since the first of them, a spell of the other kind was not so
  };
  struct sums {
    std::uint64_t spells = 0, harvested = 0;
    std::uint64_t draws = 0, harvested_draws = 0;
    double cut_off = 0, cut_off2 = 0;  // of outliers, weighted as in a fit; … of each draw, squared
    std::array<carry_fit, decay_steps.size()> fits{};

    sums operator-(sums const& other) const noexcept;
    bool can_tell() const noexcept;
    std::size_t best() const noexcept;
    bool is_plausible(std::size_t at, std::size_t best) const noexcept;
    double unseen(double draws_worth) const noexcept;  // few draws show too little of their spread
    double outlying() const noexcept;                  // what outliers add to the effect
    double total(std::size_t at) const noexcept;
    double error2(std::size_t at) const noexcept;
    double loss() const noexcept;
  };

  sums remembered() const noexcept { return all_ - forgotten_; }
  double within_limits(double deviation, double spread);
  void end_draw();
  void forget_what_has_changed();

  double likely_;
  spell_draw now_{};
  std::array<carry, decay_steps.size()> carries_{};
  double in_forecast_ = 0;              // harvested spells
  std::array<outliers, 2> outliers_{};  // of spells without and with side work
  double spread_ = 0;
  // Of the draw under way.
  std::uint64_t spells_of_draw_ = 0;
  double cut_off_of_draw_ = 0;
  // The best fit's.
  std::size_t best_ = 0;
  carry_fit::effects known_{};

  static constexpr std::size_t kept = 256;
  std::deque<sums> before_{};  // each of the latest draws
  sums all_;
  sums forgotten_;
  double forgotten_loss_ = 0;
};

}  // namespace lull
