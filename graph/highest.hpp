// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace lull {

/// The places of the `count` highest values, or of all if they are fewer: the highest first, equal ones by rising
/// place.
template <class Value>
std::vector<std::uint32_t> places_of_highest(std::vector<Value> const& values, std::size_t count) {
  std::vector<std::uint32_t> places(values.size());
  std::iota(places.begin(), places.end(), 0U);
  std::vector<std::uint32_t> found(std::min(count, places.size()));
  std::partial_sort_copy(
      places.begin(), places.end(), found.begin(), found.end(),
      [&](std::uint32_t a, std::uint32_t b) { return values[a] != values[b] ? values[a] > values[b] : a < b; });
  return found;
}

}  // namespace lull
