// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <lull/device/world.hpp>

namespace lull::detail {

/// How many items of `size` hold `count`.
LULL_HD constexpr std::uint64_t parts(std::uint64_t count, std::uint32_t size) noexcept {
  return (count + size - 1) / size;
}

/// Calls visit(place) for the places below `count` of an item of `Size`, each on one thread of the team.
template <std::uint32_t Size>
LULL_HD void for_each_of(std::uint64_t item, std::uint64_t count, auto const& team, auto const& visit) noexcept {
  std::uint64_t const all = (item + 1) * Size;
  std::uint64_t const end = all < count ? all : count;
  for (std::uint64_t at = item * Size + static_cast<std::uint64_t>(team.rank()); at < end;
       at += static_cast<std::uint64_t>(team.size())) {
    visit(at);
  }
}

}  // namespace lull::detail
