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

/// A trainer's steps, as `runtime::step` marked them or openings at one site, since the bound on their slowdown was
/// set. Where it was taken away and no step has begun since, those under it.
struct step_report {
  std::uint64_t begun = 0;
  std::uint64_t timed = 0;            // whose lengths are known
  std::chrono::nanoseconds total{0};  // of these
  double max_slowdown = 0;            // the bound, as a share; 0: none
  // With a bound:
  std::uint64_t withheld = 0;  // in which no side work runs
  std::uint64_t halved = 0;    // in which it has half of its blocks, as a trial or to do more in all
  double chance = 1;           // that side work runs in a step to come
  std::optional<slowdown_interval> slowdown = {};  // none: not known yet
  /// Of a step's length around what was expected of it, as a share. None: not known yet.
  std::optional<double> noise = {};
  /// After how many steps with the jobs that stand now the interval reaches no further than half of `max_slowdown` to
  /// either side, with this noise and this chance. 0: not known yet.
  std::uint64_t steps_to_know = 0;
};

}  // namespace lull
