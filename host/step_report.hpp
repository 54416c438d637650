// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace lull {

/// How much longer a trainer's step takes if side work runs in it, as a share of a step without.
struct slowdown_interval {
  double low = 0;
  double estimate = 0;
  double high = 0;
};

/// A trainer's steps, as `runtime::step` or openings at one site marked them, since the bound on their slowdown was
/// set, or from the start without one. After the bound was removed and before the next step begins: the steps under it.
struct step_report {
  std::uint64_t begun = 0;
  std::uint64_t timed = 0;            // whose lengths are known
  std::chrono::nanoseconds total{0};  // of these
  double max_slowdown = 0;            // 0: none
  double slowdown_cap = 0;            // on what side work is known to cost, where there is no bound; 0: none
  // With either:
  std::uint64_t withheld = 0;  // in which no side work runs
  std::uint64_t halved = 0;    // in which it has half of its blocks, as a trial or because it then does more in total
  double chance = 1;           // that side work runs in a step to come
  std::optional<slowdown_interval> slowdown = {};  // none: not known yet
  /// The noise of a step's length around the expected one, as a share. None: not known yet.
  std::optional<double> noise = {};
  /// The number of steps, with the jobs that are placed now, after which the interval reaches at most half of
  /// `max_slowdown` or `slowdown_cap` to either side, at this noise and chance. 0: not known yet.
  std::uint64_t steps_to_know = 0;

  bool may_withhold() const noexcept { return max_slowdown != 0 || slowdown_cap != 0; }
};

}  // namespace lull
