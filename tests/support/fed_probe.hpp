// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/side_task.hpp>

namespace lull {

/// Reads a row of input in each round, from one of two places. Each result depends on the order of the rows, so that a
/// row that is read twice, too early or not at all shows.
struct fed_probe {
  static constexpr team_shape shape{.threads = 64};
  static constexpr std::uint64_t items = 12;  // of a row
  static constexpr std::uint64_t places = 2;

  std::uint64_t const* input;  // (places, items), of the host's
  std::uint64_t* results;      // (items,)
  std::uint64_t rounds;
  bool hasty;  // mutant: does not wait for its input

  LULL_HD std::uint64_t extent(position at, std::uint64_t fed) const noexcept {
    if (at.round == rounds) return finished;
    return at.round < fed || hasty ? items : starved;
  }
  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    if (team.leaving()) return;
    std::uint64_t const* const row = input + c.at.round % places * items;
    for (std::uint64_t i = c.begin + static_cast<std::uint64_t>(team.rank()); i < c.end;
         i += static_cast<std::uint64_t>(team.size())) {
      results[i] = results[i] * 31 + row[i];
    }
  }
};
static_assert(is_side_task<fed_probe>());

}  // namespace lull
