// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lull::bench {

/// A trainer that does not exist: how long its steps take, and by how much side work makes them longer.
struct trainer_traits {
  std::string_view name;
  double slowdown = 0.02;      // of a step in which one rank harvests
  double later_slowdown = -1;  // from the middle of the run on; below 0: the same
  double ramp = 0;             // steps in which it gets there
  double noise = 0.01;         // standard deviation of a step, as a share
  double persistence = 0;      // correlation of the noise of two steps in a row
  double carry = 0;            // steps in which the effect of side work builds up and decays; 0: at once
  double lengths = 0;          // standard deviation of the logarithm of a step's work
  bool says_work = false;      // … of which the governor is told
  double fixed = 0.1;          // share of a usual step that does not depend on its work
  double checkpoint = 0;       // by so many steps each hundredth step is longer
  double accumulated = 0;      // by which each eighth step is longer, as a share
  double evaluation = 0;       // length of steps of an evaluation, 40 of each 500, as a share of a usual one; 0: none
  double drift = 0;            // amplitude of a slow wave, as a share
  double jump = 0;             // by which all steps are longer after the first third
  double outliers = 0;         // share of the steps that take a twentieth longer
  double doubled = 0;          // share of steps that take twice as long
  double first = 1;            // how much longer the first step takes
  double pause = 0;            // of so many steps, after a quarter
  double assumed = -1;         // slowdown that the governor is told beforehand; below 0: nothing
  double half = -1;            // slowdown with half of the blocks; below 0: they cannot be halved
  double later_half = -1;      // from the middle of the run on
  std::uint64_t dear = 0;      // the first so many steps with side work are longer still
  double dearer = 0.1;         // by how much, as a share
  double other_rank = -1;      // slowdown by a second rank, with a governor of its own; below 0: there is none
  bool is_recorded = false;    // noise as recorded from a real trainer
};

/// Returns whether the slowdown is the same all the time, and by one rank's side work alone.
bool is_constant(trainer_traits const& trainer);

/// Those that the governor is measured with.
std::span<trainer_traits const> simulated_trainers();

struct governed_run {
  double slowdown = 0;         // of all steps, in truth
  double slowdown_behind = 0;  // of all but the first 200
  bool is_known = false;       // at the end the first rank has an interval
  bool is_held = false;        // … and it holds the slowdown
  std::uint64_t known_at = 0;  // the first step at which a rank's interval is no wider than the bound; 0: never
  double harvest = 0;  // harvested steps, of those that the best share within the bound would give, one for each half
};

/// Step times reach the governors three steps late. `is_cap`: as in governor_options.
governed_run run_governed(trainer_traits const& trainer, double max_slowdown, std::uint64_t steps, std::uint64_t seed,
                          bool is_cap = false);

}  // namespace lull::bench
