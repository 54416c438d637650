// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <lull/device/side_task.hpp>

namespace lull {

/// Each round folds its number into every word. A round that ran twice, or never, shows in the words.
struct count_up {
  static constexpr team_shape shape{.threads = 64, .steps = 1};

  std::uint64_t* words;  // (items,) zero at the start
  std::uint64_t items;
  std::uint64_t rounds;

  LULL_HD static constexpr std::uint64_t after(std::uint64_t word, std::uint64_t round, std::uint64_t item) noexcept {
    return word * 31 + round + item;
  }
  LULL_HD std::uint64_t extent(position at, std::uint64_t /*fed*/) const noexcept {
    return at.round == rounds ? finished : items;
  }
  LULL_HD void operator()(chunk c, auto const& team) const noexcept {
    if (team.leaving()) return;
    for (std::uint64_t i = c.begin + static_cast<std::uint64_t>(team.rank()); i < c.end;
         i += static_cast<std::uint64_t>(team.size())) {
      words[i] = after(words[i], c.at.round, i);
    }
  }
};
static_assert(is_side_task<count_up>());

}  // namespace lull
