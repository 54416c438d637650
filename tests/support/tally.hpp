// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/atomic_integer.hpp>
#include <lull/device/side_task.hpp>
#include <lull/host/task/counter_random.hpp>

namespace lull {

/// Changes the same words from all items, by each call of atomic_integer. A round's second step reads them as plain
/// memory.
struct tally {
  static constexpr team_shape shape{.threads = 64, .steps = 2};
  static constexpr std::uint64_t rounds = 3;
  static constexpr std::uint64_t items = 60;  // of a round's first step
  static constexpr std::uint64_t bins = 5;

  std::uint32_t* counts;  // (bins,) zero at the start
  std::int64_t* least;    // (1,)
  std::int32_t* most;     // (1,)
  std::uint64_t* winner;  // (1,)
  std::uint64_t* mixed;   // (bins,) zero at the start; what the second steps made of the counts

  LULL_HD static constexpr std::uint64_t value(std::uint64_t round, std::uint64_t item) noexcept {
    return counter_random{5, round}.at(item);
  }
  /// The order in which `winner` looks for the best.
  LULL_HD static constexpr std::uint64_t worth(std::uint64_t value) noexcept { return value << 40 | value >> 24; }

  LULL_HD std::uint64_t extent(position at, std::uint64_t /*fed*/) const noexcept {
    if (at.round == rounds) return finished;
    return at.step == 0 ? items : bins;
  }

  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    if (team.leaving()) return;
    for (std::uint64_t i = c.begin + static_cast<std::uint64_t>(team.rank()); i < c.end;
         i += static_cast<std::uint64_t>(team.size())) {
      if (c.at.step == 1) {
        mixed[i] = mixed[i] * 31 + counts[i] + worth(*winner);
        continue;
      }
      std::uint64_t const found = value(c.at.round, i);
      atomic_integer{counts[found % bins]}.add(1);
      atomic_integer{*least}.fetch_min(static_cast<std::int64_t>(found));
      atomic_integer{*most}.fetch_max(static_cast<std::int32_t>(found >> 32));
      atomic_integer const best{*winner};
      std::uint64_t seen = best.load();
      while (worth(seen) < worth(found) && !best.compare_exchange(seen, found)) continue;
    }
  }
};
static_assert(is_side_task<tally>());

}  // namespace lull
