// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/atomic_integer.hpp>
#include <lull/device/side_task.hpp>

namespace lull {

/// The task that tests watch the protocol with: every item counts its runs, and checks that the phase before it is
/// complete. Item i of phase p becomes a function of p, i and two items of phase p − 1, so that the final values tell a
/// lost, repeated or early item even where counts agree.
struct probe_task {
  static constexpr team_shape shape{.threads = 256, .steps = 2, .shared_bytes = 64};
  enum class mutant : std::uint32_t { none, skips_a_chunk, runs_twice, stores_early, no_barrier };

  std::uint64_t const* extents;  // (phases,) items; phase = round × 2 + step
  std::uint64_t phases;
  std::uint64_t* values;    // (phases, width)
  std::uint32_t* runs;      // (phases, width)
  std::uint64_t* errors;    // (1,) items that found the phase before them incomplete
  std::uint64_t* advances;  // (phases,)
  std::uint64_t width;
  std::uint64_t feeds;        // phase p needs fed ≥ p × feeds; 0: never starved
  std::uint64_t first_round;  // round that counts as the first
  std::uint32_t polls;        // polls inside the chunk
  mutant broken;

  LULL_HD std::uint64_t phase_of(position at) const noexcept {
    return (at.round - first_round) * shape.steps + at.step;
  }

  LULL_HD std::uint64_t extent(position at, std::uint64_t fed) const noexcept {
    std::uint64_t const phase = phase_of(at);
    if (phase >= phases) return finished;
    return fed < phase * feeds ? starved : extents[phase];
  }

  LULL_HD static constexpr std::uint64_t mix(std::uint64_t x) noexcept {
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15ULL;
    return x ^ x >> 29;
  }

  LULL_HD std::uint64_t value(std::uint64_t phase, std::uint64_t item) const noexcept {
    std::uint64_t result = mix(phase * 1000003 + item);
    for (std::uint64_t before = phase; before-- > 0;) {
      std::uint64_t const count = extents[before];
      if (count == 0) continue;
      result = mix(result ^ values[before * width + item % count] ^ values[before * width + (item * 7 + 3) % count]);
      break;
    }
    return result;
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    if (broken == mutant::stores_early) store(c, team);
    if (broken == mutant::skips_a_chunk && c.begin == 1) return;
    meet(c, team);
    for (std::uint32_t i = 0; i < polls; ++i) {
      if (team.leaving()) return;
    }
    if (broken != mutant::stores_early) store(c, team);
    if (broken == mutant::runs_twice && c.begin == 0) store(c, team);
  }

  /// Collective. The first and last of the team meet through the storage, so that a missing barrier shows.
  LULL_HD void meet(chunk c, auto const& team) const noexcept {
    auto* const seen = static_cast<std::uint64_t*>(team.shared());
    if (team.rank() == 0) *seen = c.begin + 1;
    if (broken != mutant::no_barrier) team.sync();
    if (*seen != c.begin + 1) atomic_integer{*errors}.fetch_add(1);
    team.sync();
  }

  LULL_HD void store(chunk c, auto const& team) const noexcept {
    std::uint64_t const phase = phase_of(c.at);
    for (std::uint64_t item = c.begin + team.rank(); item < c.end; item += team.size()) {
      values[phase * width + item] = value(phase, item);
      runs[phase * width + item] += 1;
      for (std::uint64_t before = 0; before < phase; ++before) {
        std::uint64_t const count = extents[before];
        if (count != 0 && runs[before * width + item % count] == 0) atomic_integer{*errors}.fetch_add(1);
      }
    }
  }

  /// Asks to leave, as an author might: an advance must not, because no other team would continue it.
  LULL_HD void advance(position ended, auto const& team) const noexcept {
    if constexpr (requires { team.leaving(); }) {
      if (team.leaving()) return;
    } else {
      if (team.rank() == 0 && team.stay_ended()) return;
    }
    if (team.rank() == 0) advances[phase_of(ended)] += 1;
  }
};

static_assert(is_side_task<probe_task>() && has_advance<probe_task>);

}  // namespace lull
