// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <lull/host/step_report.hpp>

namespace lull {

/// Estimates how much longer a trainer's step takes if side work runs in it. It uses spells: a few steps in a row that
/// were drawn to be harvested, or not to be.
///
/// Let p be the chance of a spell, A whether it was harvested, x its time over the time forecast for it, less 1, and s
/// the slowdown, in times forecast. Chance and forecast depend on earlier spells alone. So the sum of (A − p)(x − A s)
/// is a martingale, whatever the trainer's own noise and drift: the draw makes it one. The interval holds each s for
/// which that sum is within Robbins' normal-mixture boundary, with its variance estimated from the same spells. That is
/// an asymptotic confidence sequence (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, Annals of Statistics 52, 2024).
/// So it is valid after each spell, and the chance may depend on it. Rare spells that are far longer than the others
/// make it less certain than it states.
///
/// A slowdown has changed when the latest spells, 512 at most, differ from earlier ones by more than their spread
/// allows. Then the earlier ones are forgotten, and the interval starts again. Not thread-safe.
class slowdown_estimate {
 public:
  /// `chance`: above 0 and below 1. `excess`: finite.
  void add(double chance, bool is_harvested, double excess);
  /// Returns the 95 % interval, valid for all times together while nothing is forgotten. None before five spells of
  /// either kind.
  std::optional<slowdown_interval> interval() const;
  /// Returns after about how many spells of that chance the interval reaches `half` to either side, if their times
  /// scatter by `spread` around the forecast, as a share; at most 1e9.
  static double spells_to_know(double half, double chance, double spread);
  /// Returns what side work has cost so far, in spells: each harvested spell at the slowdown now known for its time.
  double loss() const noexcept;
  /// Returns the number of spells on which the interval rests.
  std::uint64_t spells() const noexcept { return remembered().spells; }

 private:
  struct sums {
    std::uint64_t spells = 0;
    std::uint64_t harvested = 0;
    double covariance = 0;           // (A − p) x
    double weight = 0;               // (A − p) A
    std::array<double, 3> square{};  // ((A − p)(x − A s))², as a polynomial in s

    sums operator-(sums const& other) const noexcept;
    bool can_tell() const noexcept;
    double slowdown() const noexcept { return covariance / weight; }
    double loss() const noexcept;
    double variance() const noexcept;                   // of the sum
    double unseen(double spells_worth) const noexcept;  // few spells show too little of their spread
    double error2() const noexcept;                     // of the slowdown, squared
  };

  sums remembered() const noexcept { return all_ - forgotten_; }
  void forget_what_has_changed();

  static constexpr std::size_t kept = 1'024;
  std::array<sums, kept> before_{};  // each of the latest spells
  sums all_;
  sums forgotten_;
  double forgotten_loss_ = 0;
};

}  // namespace lull
