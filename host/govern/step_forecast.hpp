// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace lull {

/// What a spell of a trainer takes for a step, as foretold from the spells before it and from the spell's work. All
/// deviations are logarithms: 0.01 is about one per cent longer. Not thread-safe.
class step_forecast {
 public:
  /// A spell's mean of a step. `work`: in any unit, such as tokens; 0: not known, and the length is foretold without.
  struct spell {
    double step_ns = 0;
    double work = 0;
  };

  /// Uses one of the first spells, which only set the forecast: three, or sixteen where their work varies. Returns
  /// false once it is set.
  bool learns(spell const& of);
  /// Returns how much longer than foretold the spell took, within a factor of three.
  double deviation(spell const& of) const;
  /// Moves the forecast towards a spell. `unexplained`: the part of the deviation that side work does not explain.
  /// Returns the weight of the spell: the forecast moved by so much of the deviation.
  double follow(spell const& of, double deviation, double unexplained);
  /// Returns the standard deviation of spells around their forecast.
  double spread() const noexcept { return spread_; }

 private:
  static double times_usual(double work, double usual) noexcept;
  double by_work(double work) const;
  void begin();
  double weigh(double unexplained);
  void learn_work(double work, double unexplained);

  std::vector<spell> first_{};  // empty once the forecast is set
  bool is_set_ = false;
  double level_ = 0;  // of a step of usual work, as a logarithm of ns
  double spread_ = 0.02;
  double weight_ = 0.05;  // of the next spell in the level
  double last_ = 0;       // what was unexplained in the last spell, in spreads
  int off_in_a_row_ = 0;  // spells far above the forecast; below 0: below it
  double usual_work_ = 0;
  double by_work_ = 1;      // by how much of its length a step grows with its work
  double evidence_ = 0.05;  // … in squares of relative work
};

}  // namespace lull
