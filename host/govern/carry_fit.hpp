// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

namespace lull {

/// Two effects of side work on a trainer's steps, by sums over spells: on the spell that it runs in, and on those
/// after it, where it decays over so many steps. Both are logarithms, and of side work that runs all the time; their
/// sum is what it costs then.
///
/// A spell's deviation from its forecast is `here` times its own exposure A, plus `carried` times what earlier spells
/// left, C, plus the trainer's noise. The forecast follows earlier spells, so A and C are taken relative to what of
/// them is in it. Each equation is weighted by how far the draws were from their chances (instrumental variables):
/// noise and drift of the trainer are independent of that.
class carry_fit {
 public:
  struct effects {
    double here = 0;
    double carried = 0;
    double total() const noexcept { return here + carried; }
  };
  /// One spell. The first two are relative to the forecast, the last two to the chances of the draws.
  struct exposure {
    double here = 0, carried = 0;
    double drawn_here = 0, drawn_carried = 0;
  };

  /// Adds a spell to the draw under way.
  void add(double deviation, exposure const& of) noexcept;
  /// Ends the draw: spells that shared one count as one for the error. `prior`: how much is carried is believed to be
  /// near 0 as if so much evidence had said so.
  void end_draw(double prior) noexcept;

  bool can_tell() const noexcept;
  effects found() const noexcept;
  /// Returns the squared standard error of the effects' sum.
  double error2() const noexcept;
  /// Returns the squared deviations that the effects do not explain, in sum.
  double left() const noexcept;
  /// Returns the effect without one that is carried, and its squared standard error. A change is sooner seen in it.
  double direct() const noexcept { return sums_[0] / sums_[1]; }
  double direct_error2() const noexcept;
  /// Returns the evidence, in spells of the more even of two outcomes: sum of (A - p) A.
  double weight() const noexcept { return sums_[1]; }

  carry_fit operator-(carry_fit const& other) const noexcept;

 private:
  static constexpr std::size_t terms = 6;
  double determinant() const noexcept { return sums_[1] * of_carried() - sums_[2] * sums_[4]; }
  double of_carried() const noexcept { return sums_[5] + prior_; }

  // Deviation, here and carried, by each of the two weights.
  std::array<double, terms> sums_{};
  std::array<double, terms*(terms + 1) / 2> products_{};  // of each draw's terms with each other
  std::array<double, terms> squares_{};  // of deviation, here, carried with each other: dd, dh, dc, hh, hc, cc
  // Of the draw under way.
  std::array<double, terms> draw_sums_{};
  std::array<double, terms> draw_squares_{};
  double prior_ = 0;
};

}  // namespace lull
